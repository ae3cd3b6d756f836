"""Rewrites that are broken on purpose change outputs, and the comparison notices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch._higher_order_ops.scan import scan
from torch.fx import GraphModule, Node

from cmcompiler.frontend import operators
from cmcompiler.frontend.fidelity.rewriting import rewriting_error
from cmcompiler.frontend.layouts import channels_last, export
from cmcompiler.frontend.outputs import run_on
from cmcompiler.frontend.passes.functionalization import without_writes
from cmcompiler.frontend.rewrites import order
from cmcompiler.frontend.source import find_source
from cmcompiler.frontend.vectors import Samples

LEAST = 0.95
MODELS = (
    *("tests/data/models/mixed.py:gallery", "tests/data/models/mixed.py:assigned"),
    *("tests/data/models/sequences.py:encoder", "tests/data/models/sequences.py:sensors"),
    *("tests/data/models/gestures.py:temporal", "tests/data/models/images.py:convnext"),
)


class Net(nn.Module):
    """A sequence, norms, functions, and attention as it is spelt."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm1d(8)
        self.rows = nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.hardswish(self.norm(self.conv(x))).transpose(1, 2)
        z = self.rows(y)
        weights = torch.softmax(z @ z.transpose(1, 2) / 8**0.5, -1)
        return torch.nn.functional.gelu((weights @ z) * 2 + 1).mean(1)


class Spellings(nn.Module):
    """Operators that no network has, and whose rewrites make many nodes."""

    def __init__(self) -> None:
        super().__init__()
        edges = torch.rand(5, 12) * (torch.rand(5, 12) > 0.6)
        self.register_buffer("edges", edges.to_sparse())
        self.exponents = nn.Parameter(torch.rand(12) + 0.3)
        self.row = nn.Parameter(torch.rand(12))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        nodes = torch.sparse.mm(self.edges, x[0].t())
        angles = torch.atan2(x[:, 0], x[:, 1])
        powers = torch.pow(x.abs(), self.exponents) + torch.pow(self.row + 1, x)
        sums = torch.addmv(x[0, :, 0], x[0], self.row, beta=0.5, alpha=2.0)

        def step(state: torch.Tensor, column: torch.Tensor) -> list[torch.Tensor]:
            state = state * 0.9 + column * 0.1
            return [state, state * 2]

        _, means = scan(step, torch.ones(1, 3), x.permute(2, 0, 1))
        scores = torch.softmax(x.clone().detach() + 1, -1, dtype=torch.float32)
        return nodes, angles, powers, sums, means, scores


@dataclass(frozen=True)
class Damage:
    """
    Attributes:
        step: which rewrite.
        place: which of the nodes that it makes.
        argument: which of the node's numbers; None for its result.
    """

    step: int
    place: int
    argument: int | None


def numbers(node: Node) -> list[int]:
    """The places of arguments that can be changed."""
    return [
        place
        for place, each in enumerate(node.args)
        if isinstance(each, int | float | bool) or (isinstance(each, list | tuple) and each)
    ]


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.05 + 0.01
    return type(value)([changed(value[0]), *value[1:]]) if not isinstance(value[0], Node) else value


def spoil(graph: GraphModule, made: Sequence[Node], damage: Damage) -> None:
    node = made[damage.place]
    if damage.argument is not None:
        node.update_arg(damage.argument, changed(node.args[damage.argument]))
        return
    with graph.graph.inserting_after(node):
        # Not a factor, which a norm behind it would take back.
        wrong = graph.graph.call_function(torch.ops.aten.sin.default, (node,))
        wrong.meta["val"] = node.meta["val"]
    node.replace_all_uses_with(wrong, delete_user_cb=lambda user: user is not wrong)


class Broken:
    """A rewrite that spoils what it makes; without a damage, it only notes that."""

    def __init__(self, rewrite: Callable[[GraphModule], None], damage: Damage | None) -> None:
        self.rewrite, self.damage = rewrite, damage
        self.made: list[Node] = []

    def __call__(self, graph: GraphModule) -> None:
        before = set(graph.graph.nodes)
        self.rewrite(graph)
        self.made = [
            node
            for node in graph.graph.nodes
            if node not in before and node.op == "call_function" and node.users
        ]
        if self.damage is not None:
            spoil(graph, self.made, self.damage)


class Subject:
    """A module whose rewrites are broken."""

    def __init__(self, module: nn.Module, samples: Sequence[Sequence[np.ndarray]]) -> None:
        self.module = module
        self.samples = [
            tuple(channels_last(torch.from_numpy(np.ascontiguousarray(x))) for x in sample)
            for sample in samples
        ]
        self.outputs = run_on(module, Samples.stack([list(sample) for sample in samples]))

    def rewritten(self, monkeypatch: pytest.MonkeyPatch, damage: Damage | None) -> Any:
        """The graph, and what each rewrite made."""
        steps = [
            Broken(each, damage if damage is not None and damage.step == number else None)
            for number, each in enumerate(RIGHT)
        ]
        monkeypatch.setattr(order, "REWRITES", tuple(steps))
        operators.define()
        exported = export(self.module, self.samples[0])
        with torch.no_grad():
            graph = order.rewrite(without_writes(exported, 0))
        return graph, [step.made for step in steps]

    def damages(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Damage]:
        _, made = self.rewritten(monkeypatch, None)
        for step, nodes in enumerate(made):
            for place, node in list(enumerate(nodes))[:3]:
                value = node.meta.get("val")
                if isinstance(value, torch.Tensor) and value.is_floating_point():
                    yield Damage(step, place, None)
                yield from (Damage(step, place, argument) for argument in numbers(node)[:3])

    def compare(self, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[str]]:
        """How many damages are noticed, and those that are not."""
        right, _ = self.rewritten(monkeypatch, None)
        assert rewriting_error(right, (), self.samples, self.outputs) is None
        caught, missed = 0, []
        for damage in self.damages(monkeypatch):
            try:
                graph, _ = self.rewritten(monkeypatch, damage)
                error = rewriting_error(graph, (), self.samples, self.outputs)
                same = error is None and self.is_same(right, graph)
            except Exception:  # torch itself refuses it
                continue
            if error is not None:
                caught += 1
            elif not same:
                missed.append(f"{RIGHT[damage.step].__name__}: {damage}")
        return caught, missed

    def is_same(self, right: GraphModule, other: GraphModule) -> bool:
        with torch.no_grad():
            pairs = [
                zip(leaves(right(*sample)), leaves(other(*sample)), strict=True)
                for sample in self.samples
            ]
        return all(torch.allclose(x, y, rtol=1e-5) for each in pairs for x, y in each)


RIGHT = order.REWRITES


def leaves(results: Any) -> list[torch.Tensor]:
    actual = torch.utils._pytree.tree_leaves(results)
    return [each for each in actual if isinstance(each, torch.Tensor)]


@pytest.mark.parametrize("kind", [Net, pytest.param(Spellings, marks=pytest.mark.long)])
def test_broken_rewrites_are_noticed(
    monkeypatch: pytest.MonkeyPatch, kind: type[nn.Module]
) -> None:
    torch.manual_seed(0)
    samples = [
        [np.random.default_rng(seed).normal(size=(1, 3, 12)).astype(np.float32)]
        for seed in range(2)
    ]
    caught, missed = Subject(kind().eval(), samples).compare(monkeypatch)
    assert caught >= 10
    assert caught / (caught + len(missed)) >= LEAST, missed


@pytest.mark.long
def test_broken_rewrites_of_networks_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    noticed, missed = 0, []
    for model in MODELS:
        loaded = find_source(model).load(0, None)
        samples = [list(sample) for sample, _ in zip(loaded.samples, range(2), strict=False)]
        caught, others = Subject(loaded.module.eval(), samples).compare(monkeypatch)
        noticed += caught
        missed += [f"{model}: {each}" for each in others]
    assert noticed >= 50
    assert noticed / (noticed + len(missed)) >= LEAST, missed
