"""Every kind of write to states: the graph without writes computes what the module does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import Function
from torch import Tensor, nn
from torch._ops import OpOverload

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.buffers import WithStates
from cmcompiler.frontend.passes.functionalization import without_writes


def copied(state: Tensor, x: Tensor) -> Tensor:
    old = state.clone()
    state.copy_(x)
    return old


def converted(state: Tensor, x: Tensor) -> Tensor:
    state.copy_(x[:1].to(torch.int32))
    return state + x


def several_times(state: Tensor, x: Tensor) -> Tensor:
    y = state.add_(x)
    state.mul_(2).sub_(1)
    return y + state


def by_index(state: Tensor, x: Tensor) -> Tensor:
    state.index_copy_(0, torch.tensor([1]), x[:1])
    state.index_fill_(1, torch.tensor([2]), 7)
    return state.sum(0)


def by_view(state: Tensor, x: Tensor) -> Tensor:
    state[:1] = x[:1]
    state[1, 1:] += 1
    return state * 2


def read_by_view(state: Tensor, x: Tensor) -> Tensor:
    rows = state.view(-1)
    state.copy_(x)
    return rows + 1


def read_by_part(state: Tensor, x: Tensor) -> Tensor:
    first, _ = state.split([1, 2], 1)
    state.copy_(x)
    return first + 1


def by_part(state: Tensor, x: Tensor) -> Tensor:
    _, last = state.unbind(0)
    last.copy_(x[0])
    return state + 1


def changed_after(state: Tensor, x: Tensor) -> Tensor:
    y = x * 3
    state.copy_(y)
    return y.view(-1).relu_().sum() + state


def shifted(state: Tensor, x: Tensor) -> Tensor:
    """Writes to a view of an intermediate tensor, which becomes the state."""
    window = torch.roll(state, -1, 1)
    window[:, -1] = x.sum(1)
    state.copy_(window)
    return window * 2


def filled(state: Tensor, x: Tensor) -> Tensor:
    state.zero_()
    state.fill_(3)
    return state + x


def without_gradients(state: Tensor, x: Tensor) -> Tensor:
    with torch.no_grad():
        state.lerp_(x, 0.25)
    return state - x


THROUGH_VIEWS = (by_view, by_part, read_by_view, read_by_part, changed_after, shifted)


class Stateful(nn.Module):
    def __init__(self, change: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.state = nn.Buffer(torch.arange(6.0).reshape(2, 3))
        self.change = change

    def forward(self, x: Tensor) -> Tensor:
        return self.change(self.state, x)


@pytest.mark.parametrize(
    "change",
    [copied, converted, several_times, by_index, filled, without_gradients, *THROUGH_VIEWS],
    ids=lambda change: change.__name__,
)
def test_what_was_written_is_computed(change: Callable[[Tensor, Tensor], Tensor]) -> None:
    torch.manual_seed(0)
    module = Stateful(change)
    inputs = [torch.randn(2, 3) for _ in range(4)]
    state = module.state.clone()
    exported = torch.export.export(WithStates(module, ["state"]), (inputs[0], state))
    graph = without_writes(exported, 1)
    written = [node for node in graph.graph.nodes if str(node.target).endswith("copy_.default")]
    assert written == []
    for x in inputs:
        ours, (state,) = graph(x, state)
        assert torch.equal(ours, module(x))
        assert torch.equal(state, module.state)


def test_operators_stay_whole_where_no_view_is_written() -> None:
    def normalise(state: Tensor, x: Tensor) -> Tensor:
        state.copy_(nn.functional.layer_norm(x, [3]))
        return state.flatten()

    exported = torch.export.export(
        WithStates(Stateful(normalise), ["state"]), (torch.ones(2, 3), torch.ones(2, 3))
    )
    targets = {str(node.target) for node in without_writes(exported, 1).graph.nodes}
    assert {"aten.layer_norm.default", "aten.flatten.using_ints"} <= targets


def assembled(x: Tensor) -> Tensor:
    y = torch.zeros(2, 6)
    y[:, :3] = x
    y[:, 3:] = x * 3
    return y


def seen_by_another_view(x: Tensor) -> Tensor:
    y = x * 2
    view = y[:, 1:]
    y.add_(1)
    return view * y[:, :2]


def seen_by_a_part(x: Tensor) -> Tensor:
    y = x * 2
    part, whole = y.unbind(0)[0], y.view(-1)
    y.mul_(3)
    whole[0] += 1
    return part * x


def seen_by_a_view_of_it(x: Tensor) -> Tensor:
    row = (x * 2)[0]
    first = row[:1]
    row.add_(1)
    return first * row


def normalised(x: Tensor) -> Tensor:
    y = nn.functional.batch_norm(x, torch.ones(3), torch.full((3,), 2.0), torch.ones(3))
    y[:, 0] = 0
    return y


@pytest.mark.parametrize(
    "function",
    [assembled, seen_by_another_view, seen_by_a_part, seen_by_a_view_of_it, normalised],
    ids=lambda each: each.__name__,
)
def test_views_of_intermediate_tensors_see_what_was_written(
    function: Callable[[Tensor], Tensor],
) -> None:
    x = torch.randn(2, 3)
    graph = without_writes(torch.export.export(Function(function), (x,)), 0)
    named = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
    assert not any(name.split(".")[1].endswith("_") for name in named)
    assert not any("native_batch_norm" in name for name in named)
    assert torch.allclose(graph(x), function(x))


def test_vmap_becomes_operators_on_the_batch():
    class Mapped(nn.Module):
        def forward(self, x):
            return torch.vmap(lambda row: row.softmax(0) * row.sum())(x)

    x = torch.randn(3, 4)
    graph = without_writes(torch.export.export(Mapped(), (x,)), 0)
    torch.testing.assert_close(graph(x), Mapped()(x))
    assert all(isinstance(n.target, OpOverload) for n in graph.graph.nodes if n.op[:4] == "call")


@pytest.mark.filterwarnings("ignore")
def test_derivatives_are_refused_with_the_line():
    class Derived(nn.Module):
        def forward(self, x):
            return torch.func.grad(lambda y: (y**2).sum())(x)

    program = torch.export.export(Derived(), (torch.randn(3, 4),))
    with pytest.raises(Unsupported, match=r"test_functionalization.py:\d+: derivatives cannot"):
        without_writes(program, 0)
