"""Choices by one bool as branches: what is computed, and where."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from harness.examples import Example
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.api import Compiled
from cmcompiler.ops.branch import Merge

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of torch's own, as it traces


class Ways(nn.Module):
    """Two branches in a row, the second with another in one way and two results."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(2, 8, 3, padding=1)
        self.wide, self.plain = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 1)

    def forward(self, x: Tensor, flag: Tensor) -> tuple[Tensor, Tensor]:
        x = torch.relu(self.first(x))
        y = torch.cond(flag, lambda v: torch.relu(self.wide(v)), self.plain, (x,))

        def inner(v: Tensor) -> tuple[Tensor, Tensor]:
            chosen = torch.cond(flag, self.wide, lambda w: self.plain(w) + w, (v,))
            return chosen, v + 1

        return torch.cond(y.mean() > 0.05, inner, lambda v: (torch.tanh(v), v * 2), (y,))


class Written(nn.Module):
    """Choices without torch.cond, one of which reads what the other has made."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        is_large = x.abs().max() > 1
        y = torch.where(is_large, self.a(x), x)
        return torch.where(is_large, self.b(y), self.b(x) + y)


@cache
def compiled(kind: type[nn.Module]) -> Compiled:
    torch.manual_seed(0)
    if kind is Ways:
        scales = torch.linspace(0.1, 3, 8)
        samples = [
            (torch.randn(1, 2, 6, 6) * scale, torch.tensor(number % 2 == 0))
            for number, scale in enumerate(scales)
        ]
        return api.compile(kind(), samples[0], samples)
    inputs = [torch.randn(1, 8) * scale for scale in torch.linspace(0.1, 2, 8)]
    return api.compile(kind(), inputs[0], inputs)


@pytest.mark.parametrize(("kind", "branches"), [(Ways, 3), (Written, 2)])
def test_each_choice_is_a_branch(kind, branches):
    graph = compiled(kind).graph
    conditions = {(guard.source, guard.condition) for node in graph.nodes for guard in node.guards}
    assert len(conditions) == branches
    assert "where" not in {node.op.label for node in graph.nodes}
    convolving = [node for node in graph.nodes if node.op.macs and node.guards]
    assert len(convolving) == (4 if kind is Ways else 3)


def test_what_both_sides_need_is_computed_before():
    graph = compiled(Written).graph
    choices = [node for node in graph.nodes if isinstance(node.op, Merge)]
    assert len(choices) == 2 and not any(node.guards for node in choices)


@pytest.mark.parametrize("kind", [Ways, Written])
def test_every_way_equals_the_reference(runtime, kind):
    program = compiled(kind)
    samples = program.vectors
    assert samples is not None
    runtime.check(*(Example(program.graph, tuple(sample)) for sample in samples))


def test_all_ways_are_taken():
    program = compiled(Ways)
    assert program.vectors is not None
    taken = set()
    for sample in program.vectors:
        evaluation = Example(program.graph, tuple(sample)).reference
        taken |= {node for node in program.graph.nodes if node.outputs[0] in evaluation.tensors}
    assert len(taken) == len(program.graph.nodes)


def test_the_program_is_faithful():
    for kind in (Ways, Written):
        fidelity = compiled(kind).fidelity
        assert fidelity.layers and all(layer.faithful for layer in fidelity.layers)
