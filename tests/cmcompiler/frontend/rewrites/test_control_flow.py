"""Branches and loops written out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import Tensor, nn
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.utils._pytree import tree_leaves

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.rewrites.control_flow import MOST_TURNS, write_out_branches_and_loops

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of torch's own, as it traces


class Layers(nn.Module):
    def __init__(self, function: Callable[[Layers, Tensor], object]) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)
        self.function = function

    def forward(self, x: Tensor) -> object:
        return self.function(self, x)


def _two_in_a_row(net: Layers, x: Tensor) -> Tensor:
    y = torch.cond(x.sum() > 0, net.a, net.b, [x])
    return torch.cond(y.max() > 1, torch.relu, net.a, [y])


def _nested(net: Layers, x: Tensor) -> Tensor:
    def positive(v: Tensor) -> Tensor:
        return torch.cond(v.max() > 1.5, net.a, lambda w: w * 2, [v])

    return torch.cond(x.sum(0, keepdim=True).sum(1) > 0, positive, net.b, [x])


def _several(net: Layers, x: Tensor) -> Tensor:
    a, b, _ = torch.cond(
        x.sum() > 0, lambda v: (net.a(v), v + 1, v.clone()), lambda v: (net.b(v), v * 2, v + 3), [x]
    )
    return a + b


def _start() -> Tensor:
    return torch.tensor(0)


def _fixed(net: Layers, x: Tensor) -> tuple[Tensor, Tensor]:
    return while_loop(
        lambda i, v: i < 3, lambda i, v: (i + 1, torch.tanh(net.a(v)) + i), (_start(), x)
    )


def _bounded(net: Layers, x: Tensor) -> tuple[Tensor, Tensor]:
    return while_loop(
        lambda i, v: (i < 6) & (v.abs().max() > 0.5), lambda i, v: (i + 1, v * 0.6), (_start(), x)
    )


def _in_a_branch(net: Layers, x: Tensor) -> Tensor:
    return torch.cond(x.sum() > 0, lambda v: _bounded(net, v)[1], net.b, [x])


@pytest.mark.parametrize("function", [_two_in_a_row, _nested, _several, _in_a_branch])
@pytest.mark.parametrize("factor", [-1.0, 0.1, 1.0, 5.0])
def test_a_branch_is_a_choice_between_both_ways(function, factor):
    x = torch.full((1, 8), factor)
    graph = rewritten(Layers(function), x, by=write_out_branches_and_loops, tolerance=0)
    assert "aten.where.self" in targets(graph)


@pytest.mark.parametrize("factor", [0.1, 1.0, 5.0, 500.0])
def test_a_loop_ends_with_its_condition(factor):
    x = torch.linspace(-1, 1, 8)[None] * factor
    graph = rewritten(Layers(_bounded), x, by=write_out_branches_and_loops, tolerance=0)
    assert targets(graph).count("aten.mul.Tensor") == 6
    assert "aten.bitwise_and.Tensor" not in targets(graph)


def test_a_loop_of_a_fixed_count_chooses_nothing():
    x = torch.randn(1, 8)
    graph = rewritten(Layers(_fixed), x, by=write_out_branches_and_loops, tolerance=0)
    assert targets(graph).count("aten.linear.default") == 3
    assert not {"aten.where.self", "aten.lt.Scalar"} & set(targets(graph))


def _scan(net: Layers, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    def step(state: Tensor, row: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        state = torch.tanh(state + net.a(row[0]) * row[1])
        return state, (state.clone(), state * 2)

    last, (states, doubled) = scan(step, torch.zeros(8), (x, x.flip(0)), reverse=True)
    return last, states, doubled


def _mapped(net: Layers, x: Tensor) -> Tensor:
    return map_rows(lambda row, weight: torch.relu(row @ weight), x, net.a.weight)


@pytest.mark.parametrize("function", [_scan, _mapped])
def test_rows_are_computed_one_after_the_other(function):
    net, x = Layers(function), torch.randn(4, 8, generator=torch.Generator().manual_seed(1))
    graph = rewritten(net, x, by=write_out_branches_and_loops)
    assert [target for target in targets(graph) if "select" in target]
    for made, real in zip(tree_leaves(graph(x)), tree_leaves(net(x)), strict=True):
        torch.testing.assert_close(made, real)


def _without_gradients(net: Layers, x: Tensor) -> Tensor:
    with torch.no_grad():
        y = net.a(x)
        with torch.enable_grad():
            y = net.b(y) + torch.cond(y.sum() > 0, net.a, net.b, [y])
    return y


def _in_other_types(net: Layers, x: Tensor) -> Tensor:
    with torch.autocast("cpu", enabled=False):
        return net.a(x).relu()


@pytest.mark.parametrize("function", [_without_gradients, _in_other_types])
def test_parts_that_only_training_keeps_apart_are_written_out(function):
    graph = rewritten(Layers(function), torch.randn(1, 8), by=write_out_branches_and_loops)
    assert all(name.startswith("aten.") for name in targets(graph))


def _endless(net: Layers, x: Tensor) -> tuple[Tensor, ...]:
    return while_loop(lambda v: v.abs().max() > 0.5, lambda v: (v * 0.6,), (x,))


def _long(net: Layers, x: Tensor) -> tuple[Tensor, Tensor]:
    return while_loop(lambda i, v: i <= MOST_TURNS, lambda i, v: (i + 1, v * 2), (_start(), x))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_endless, r"test_control_flow.py:\d+: a loop has no fixed largest number of turns"),
        (_long, r"test_control_flow.py:\d+: a loop has more than 1,024 turns"),
    ],
)
def test_other_loops_are_refused(function, message):
    with pytest.raises(Unsupported, match=message):
        rewritten(Layers(function), torch.ones(1, 8), by=write_out_branches_and_loops)
