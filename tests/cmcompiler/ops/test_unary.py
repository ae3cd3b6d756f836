"""Every function of one number on every integer type, against torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from harness.calls import In, Out, calling
from harness.examples import Array

from cmcompiler.decode.registry import operators
from cmcompiler.errors import CompilerError
from cmcompiler.ir.reference import evaluate

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64"]

BOUNDS = {
    "aten::clamp.out": [(-3, 100), (None, 5), (2, None), (7, 4)],
    "aten::hardtanh.out": [(-3, 100), (2, 5)],
}
"""Numbers after the tensor, of operators that need some."""


@dataclass(frozen=True)
class UnaryCall:
    """A call of an operator `aten::….out(Tensor self, …, *, out)`, with its defaults."""

    operator: str
    numbers: tuple[Any, ...]

    def torch_result(self, x: torch.Tensor) -> torch.Tensor | None:
        """None where torch has none for the type, or not one of elements alone."""
        name, _, overload = self.operator.removeprefix("aten::").partition(".")
        packet = getattr(torch.ops.aten, name)
        of_values = overload.removesuffix("_out").removesuffix("out") or "default"
        try:
            result = getattr(packet, of_values)(x, *self.numbers)
        except (RuntimeError, NotImplementedError, AttributeError, TypeError):
            return None
        is_one = isinstance(result, torch.Tensor) and result.shape == x.shape
        return result if is_one else None


def calls() -> Iterator[UnaryCall]:
    for name, operator in sorted(operators().items()):
        kinds = [kind for kind, _ in operator.schema.parameters]
        is_unary = name.startswith("aten::") and kinds.count("Tensor") == 2
        is_alone = is_unary and kinds[0] == kinds[-1] == "Tensor"
        if is_alone and all(kind.startswith(("Scalar", "float", "str")) for kind in kinds[1:-1]):
            yield from (UnaryCall(name, numbers) for numbers in BOUNDS.get(name, _numbers(name)))


def _numbers(name: str) -> list[tuple[Any, ...]]:
    """The defaults of a call's numbers, or some where one is needed."""
    base, _, overload = name.removeprefix("aten::").partition(".")
    arguments = getattr(getattr(torch.ops.aten, base), overload)._schema.arguments[1:-1]
    if all(argument.has_default_value() for argument in arguments):
        return [tuple(argument.default_value for argument in arguments)]
    return [(3,), (-2,), (200,)] if len(arguments) == 1 else []


CALLS = list(calls())


def values(dtype: str) -> Array:
    """All values of a type of 8 bits; of others the smallest, the extremes, and some between."""
    if dtype == "bool":
        return np.array([False, True])
    limits = np.iinfo(dtype)
    if limits.bits == 8:
        return np.arange(limits.min, limits.max + 1).astype(dtype)
    edges = [limits.min, limits.min + 1, limits.max - 1, limits.max]
    return np.array([*edges, *range(-300, 301), 2**12, -(2**12)]).astype(dtype)


def test_the_walk_finds_the_operators() -> None:
    listed = {call.operator.removeprefix("aten::").partition(".")[0] for call in CALLS}
    assert {"abs", "neg", "sign", "relu", "clamp", "bitwise_not", "exp", "floor", "isnan"} <= listed
    assert len(listed) > 40


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.operator}{call.numbers or ''}")
def test_integers_give_what_torch_gives(call: UnaryCall, dtype: str) -> None:
    x = values(dtype)
    expected = call.torch_result(torch.from_numpy(x))
    if expected is None:
        return
    out = Out(str(expected.dtype).removeprefix("torch."), x.shape)
    try:
        example = calling(call.operator, In(x), *call.numbers, out)
    except CompilerError as error:
        assert error.message.isprintable()
        return
    (made,) = evaluate(example.graph, example.inputs).outputs
    if expected.is_floating_point():
        np.testing.assert_allclose(made, expected.numpy(), rtol=2e-5, atol=1e-30)
    else:
        np.testing.assert_array_equal(made, expected.numpy())
