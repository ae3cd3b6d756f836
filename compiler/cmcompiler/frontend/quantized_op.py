"""How user operators are quantised and lowered.

A module imported before an export registers its operator with `quantized_op`. Nodes of that
operator then get int8 inputs and an int8 output with observed ranges, and are replaced by what the
registered function returns. An operator that is not registered stays in float.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from cmcompiler.ir.quantization import Quantization

if TYPE_CHECKING:
    from torch import Tensor
    from torch._ops import OpOverload
    from torch.fx import Node
    from torch.fx.node import Argument


@dataclass(frozen=True, slots=True)
class QuantizedCall:
    """A call of an operator whose tensors are now int8.

    Attributes:
        arguments: its positional arguments.
        inputs: quantisation of the tensors among them, by position.
        output: quantisation of the result.
        constants: the float values of arguments registered as constants, by position.
    """

    arguments: Sequence[Argument]
    inputs: Mapping[int, Quantization]
    output: Quantization
    constants: Mapping[int, Tensor]


@dataclass(frozen=True, slots=True)
class Computed:
    """An argument of a replacement that another operator computes first."""

    operator: OpOverload
    arguments: Sequence[Argument | Tensor]


Replacement: TypeAlias = "tuple[OpOverload, Sequence[Argument | Tensor | Computed]]"
"""An operator on int8 tensors, and its positional arguments; tensors become constants."""

Lowering = Callable[[QuantizedCall], Replacement]


@dataclass(frozen=True, slots=True)
class Fixed:
    """An int8 result with a known range."""

    scale: float
    zero_point: int


@dataclass(frozen=True, slots=True)
class SameAs:
    """An int8 result quantised like an argument."""

    position: int


@dataclass(frozen=True, slots=True)
class QuantizedOperator:
    """How a float operator is quantised.

    Attributes:
        constants: positions of parameters and other constant tensors that stay as they are until
            the lowering packs them.
        output: quantisation of the result; None if it is observed.
        is_portable: the lowering returns operators of ExecuTorch's own runtime only.
        states: scales of int16 arguments with zero point 0, by position; None where observed.
        final: scale of results after the first, or the argument that they share one with.
        rows: positions of the constant matrices whose rows the lowering rounds to 8 bits, each by
            its own scale.
        is_short: tensors and results are int16 with zero points of 0, not int8.
    """

    lowering: Lowering
    constants: frozenset[int]
    output: Fixed | SameAs | None
    is_portable: bool
    states: Mapping[int, float | None]
    final: float | SameAs | None
    rows: frozenset[int] = frozenset()
    is_short: bool = False


QUANTIZED: dict[OpOverload, QuantizedOperator] = {}
"""By float operator; registered by the compiler's own modules and by users'."""


def quantized_op(
    operator: OpOverload,
    *,
    constants: Collection[int] = (),
    output: Fixed | SameAs | None = None,
    is_portable: bool = False,
    states: Mapping[int, float | None] = MappingProxyType({}),
    final: float | SameAs | None = None,
    rows: Collection[int] = (),
    is_short: bool = False,
) -> Callable[[Lowering], Lowering]:
    """Registers the lowering of a float operator: see QuantizedCall and QuantizedOperator.

    Args:
        operator: returns one float tensor, `torch.ops.mine.twice.default`. Of several, the first
            is int8, the others are int16.
    """

    def register(lowering: Lowering) -> Lowering:
        if operator in QUANTIZED:
            raise ValueError(f"{operator} is registered twice")
        QUANTIZED[operator] = QuantizedOperator(
            lowering,
            frozenset(constants),
            output,
            is_portable,
            states,
            final,
            frozenset(rows),
            is_short,
        )
        return lowering

    return register


def first_result(node: Node) -> Node:
    """The node, or what takes the first of its results."""
    if not isinstance(node.meta["val"], tuple | list):
        return node
    return next((user for user in node.users if user.args[1] == 0), node)


def fixed_point(factor: float) -> tuple[int, int]:
    """A positive factor as multiplier · 2^(shift - 31) with 31 significant bits, as kernels expect.

    Returns 0 for a factor too small for any product with 32 bits to reach 1.
    """
    mantissa, exponent = math.frexp(factor)
    multiplier = round(math.ldexp(mantissa, 31))
    if multiplier == 1 << 31:
        multiplier, exponent = multiplier >> 1, exponent + 1
    return (multiplier, exponent) if exponent >= -31 else (0, 0)
