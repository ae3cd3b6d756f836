"""Modules that ask for the values of their buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn, tensor

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.buffers import WithStates, mutable_buffers
from cmcompiler.frontend.layouts import export
from cmcompiler.frontend.quiet import quiet

MASK = tensor([True, False, True, False, False])
UPPER = torch.ones(3, 5, dtype=torch.bool).triu(1)

ASKING: dict[str, tuple[Tensor, Callable[[Any, Tensor], Tensor]]] = {
    "flag": (tensor(True), lambda held, x: x * 2 if held.value else x),
    "flag as a list": (tensor([0]), lambda held, x: x if held.value and True else -x),
    "compared": (tensor(3), lambda held, x: x if held.value == 0 else x * held.value),
    "item": (tensor(3), lambda held, x: x if held.value.item() < 2 else -x),
    "size": (tensor(3), lambda held, x: x[:, : int(held.value)]),
    "count": (tensor(3), lambda held, x: sum(x * i for i in range(held.value))),
    "number": (tensor(2.5), lambda held, x: x * float(held.value)),
    "mask": (MASK, lambda held, x: x[:, held.value]),
    "turned mask": (MASK, lambda held, x: x[..., ~held.value]),
    "mask of two dimensions": (UPPER, lambda held, x: x[None][:, held.value]),
    "mask written out": (MASK, lambda held, x: x[:, tensor([True, False, False, True, True])]),
    "assignment": (MASK, lambda held, x: x.clone().index_put_((held.value[:3],), tensor(0.0))),
}


class Held(nn.Module):
    def __init__(self, value: Tensor, compute: Callable[[Any, Tensor], Tensor]) -> None:
        super().__init__()
        self.register_buffer("value", value.clone())
        self.compute = compute

    def forward(self, x: Tensor) -> Tensor:
        return self.compute(self, x)


class Inside(nn.Module):
    def __init__(self, held: Held) -> None:
        super().__init__()
        self.held = held

    def forward(self, x: Tensor) -> Tensor:
        return self.held(x + 1)


@pytest.mark.parametrize("name", ASKING)
def test_values_are_known(name: str) -> None:
    module = Inside(Held(*ASKING[name]))
    x = torch.randn(3, 5, generator=torch.Generator().manual_seed(1))
    with quiet():
        exported = export(module, (x,))
    for each in (x, -x):
        torch.testing.assert_close(exported.module(check_guards=False)(each), module(each))


def _counted(held: Any, x: Tensor) -> Tensor:
    result = x * 2 if held.value == 0 else x * 3
    held.value += 1
    return result


def test_the_base_of_a_view_has_no_value() -> None:
    module = Held(tensor([[0.5]]), lambda held, x: x + held.value[0].view_as(held.value[0])._base)
    with quiet():
        export(module, (torch.ones(3, 5),))


@pytest.mark.parametrize("is_state", [False, True])
def test_values_that_are_written_are_not(is_state: bool) -> None:
    module: nn.Module = Inside(Held(tensor(0), _counted))
    inputs: tuple[Tensor, ...] = (torch.ones(3, 5),)
    if is_state:
        module, inputs = WithStates(module, ("held.value",)), (*inputs, tensor(0))
    with quiet(), pytest.raises(Unsupported, match="depends on the values of a tensor"):
        export(module, inputs)


def _by_data(held: Any, x: Tensor) -> Tensor:
    result = x * 2 if held.value == 0 else x * 3
    held.value.data.add_(1)
    return result


def _by_new_data(held: Any, x: Tensor) -> Tensor:
    result = x * 2 if held.value == 0 else x * 3
    held.value.data = held.value + 1
    return result


def _of_the_input(held: Any, x: Tensor) -> Tensor:
    copy = held.value.clone().float()
    copy += x.sum()
    return x if copy > 0 else -x


def _in_a_view(held: Any, x: Tensor) -> Tensor:
    copy = held.value.clone().float()
    copy.view(1)[0] = x.sum()
    return x if copy > 0 else -x


def _drawn(held: Any, x: Tensor) -> Tensor:
    return x if torch.rand_like(held.value.float()) > 0.5 else -x


@pytest.mark.parametrize("compute", [_by_data, _by_new_data, _of_the_input, _in_a_view, _drawn])
def test_values_that_change_in_other_ways_are_not(compute: Callable[[Any, Tensor], Tensor]) -> None:
    with quiet(), pytest.raises(Unsupported, match="depends on the values of a tensor"):
        export(Held(tensor(0), compute), (torch.ones(3, 5),))


def test_values_of_inputs_are_not() -> None:
    module = Held(MASK, lambda held, x: x if torch.equal(x, x.abs()) else -x)
    with quiet(), pytest.raises(Unsupported, match="depends on the values of a tensor"):
        export(module, (torch.ones(3, 5),))


def test_sparse_buffers_are_no_states() -> None:
    module = Held(torch.eye(3).to_sparse(), lambda held, x: held.value @ x)
    assert not mutable_buffers(module, (torch.ones(3, 5),))
