"""Portable functions of one number, and the operators that are one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Float32, Int32, Place
from cmcompiler.ir.op import Address, Array, KernelCall, Op, Tensors
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.work import Arguments
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.cast import cast, check_castable, emit_and_cast
from cmcompiler.ops.support import functions
from cmcompiler.ops.support.element import FLOAT

CLAMP = Microkernel("clamp_f32", mve=True)

ZERO, ONE, THREE, SIX = (np.array(x, np.float32) for x in (0, 1, 3, 6))


def _clamp(x: Array, low: Array, high: Array) -> Array:
    return np.where(x < low, low, np.where(x > high, high, x))


def _hard(x: Array) -> Array:
    return _clamp(x + THREE, ZERO, SIX)


PLAIN: dict[str, Callable[[Array, Array, Array], Array]] = {
    "abs": lambda x, *_: np.abs(x),
    "neg": lambda x, *_: -x,
    "clamp": _clamp,
    "sqrt": lambda x, *_: np.sqrt(x),
    "rsqrt": lambda x, *_: ONE / np.sqrt(x),
    "reciprocal": lambda x, *_: ONE / x,
    "sign": lambda x, *_: np.where(x > 0, ONE, np.where(x < 0, -ONE, x)),
    "leaky_relu": lambda x, slope, _: np.where(x > 0, x, x * slope),
    "hardsigmoid": lambda x, *_: _hard(x) / SIX,
    "hardswish": lambda x, *_: x * _hard(x) / SIX,
    "floor": lambda x, *_: np.floor(x),
    "ceil": lambda x, *_: np.ceil(x),
    "trunc": lambda x, *_: np.trunc(x),
    "round": lambda x, *_: np.rint(x),
}
"""On float32, to the bit; in the order of `enum plain` of kernels/unary.c."""


def _gelu_tanh(x: Array, *_: Array) -> Array:
    inner = np.float32(1.5957691) * (x + np.float32(0.044715) * x * x * x)
    return x * functions.sigmoid(inner)


EXPONENTIAL: dict[str, Callable[[Array, Array, Array], Array]] = {
    "exp": lambda x, *_: functions.exp(x),
    "expm1": lambda x, *_: functions.expm1(x),
    "log": lambda x, *_: functions.log(x),
    "sigmoid": lambda x, *_: functions.sigmoid(x),
    "tanh": lambda x, *_: functions.tanh(x),
    "elu": lambda x, below, above: np.where(x > 0, x * above, functions.expm1(x) * below),
    "gelu": lambda x, *_: np.float32(0.5) * x * functions.erfc(x * np.float32(-0.70710678)),
    "gelu_tanh": _gelu_tanh,
    "silu": lambda x, *_: x * functions.sigmoid(x),
    "log1p": lambda x, *_: functions.log1p(x),
    "log2": lambda x, *_: functions.log2(x),
    "log10": lambda x, *_: functions.log10(x),
    "erf": lambda x, *_: functions.erf(x),
}
"""On float32, to the bit; in the order of `enum exponential`."""

HYPERBOLIC: dict[str, Callable[[Array, Array, Array], Array]] = {
    "sinh": lambda x, *_: functions.sinh(x),
    "cosh": lambda x, *_: functions.cosh(x),
    "asinh": lambda x, *_: functions.asinh(x),
    "acosh": lambda x, *_: functions.acosh(x),
    "atanh": lambda x, *_: functions.atanh(x),
}
"""On float32, to the bit; in the order of `enum hyperbolic`."""

TRIGONOMETRIC: dict[str, Callable[[Array, Array, Array], Array]] = {
    "sin": lambda x, *_: functions.sin(x),
    "cos": lambda x, *_: functions.cos(x),
    "tan": lambda x, *_: functions.tan(x),
    "asin": lambda x, *_: functions.asin(x),
    "acos": lambda x, *_: functions.acos(x),
    "atan": lambda x, *_: functions.atan(x),
}
"""On float32, to the bit; in the order of `enum trigonometric`."""

KERNELS = {
    "unary_f32": PLAIN,
    "unary_exp_f32": EXPONENTIAL,
    "unary_hyperbolic_f32": HYPERBOLIC,
    "unary_trigonometric_f32": TRIGONOMETRIC,
}
"""Functions by kernel, each in the order of the kernel's enum."""

_KERNEL_OF = {name: kernel for kernel, table in KERNELS.items() for name in table}


@dataclass(frozen=True)
class UnaryArguments(Arguments):
    """Floats and a function of them."""

    c_name = "cm_unary"

    input: Place
    output: Place
    count: Int32
    function: Annotated[Int32, "of the kernel's enum"]
    first: Annotated[Float32, "float parameters"]
    second: Float32


@dataclass(frozen=True)
class Unary(Op):
    """A function of float32 numbers.

    Attributes:
        name: a key of one of the tables of KERNELS.
        parameters: two numbers, if the function takes them.
    """

    label = "unary"
    element = np.dtype(np.float32)
    in_place = frozenset({0})

    name: str
    parameters: tuple[float, float] = (0.0, 0.0)

    @property
    def title(self) -> str:
        return self.name

    @property
    def transcendental(self) -> bool:  # type: ignore[override]
        return self.name not in PLAIN

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        function = KERNELS[_KERNEL_OF[self.name]][self.name]
        with np.errstate(all="ignore"):
            first, second = (np.array(x, np.float32) for x in self.parameters)
            return (function(inputs[0], first, second),)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        kernel = _KERNEL_OF[self.name]
        arguments = UnaryArguments(
            input=Address(inputs[0]),
            output=Address(outputs[0]),
            count=outputs[0].numel,
            function=list(KERNELS[kernel]).index(self.name),
            first=self.parameters[0],
            second=self.parameters[1],
        )
        microkernel = CLAMP if self.name == "clamp" else None
        return [KernelCall.of(kernel, arguments, microkernel=microkernel)]


def emit_unary(
    call: Call,
    name: str,
    source: Operand,
    output: Operand,
    parameters: tuple[float, float] = (0.0, 0.0),
) -> None:
    """Emits a function of a tensor's elements, as floats."""
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    check_castable(call, output.dtype)
    tensor = call.arrange(cast(call, source, FLOAT), output.dim_order)
    emit_and_cast(call, Unary(name, parameters), FLOAT, [tensor], output)


READ_ELSEWHERE = {
    *("abs", "neg", "clamp", "sign", "leaky_relu", "floor", "ceil", "trunc", "round"),
    *("elu", "gelu", "gelu_tanh"),
}
"""Functions whose operators take more than a tensor, or also give integers."""

FLOATS = tuple(name for name in _KERNEL_OF if name not in READ_ELSEWHERE)
"""Operators `aten::<item>.out(Tensor self, *, out)` that give floats, and their functions."""

OF_FLOATS_ONLY = {"hardsigmoid", "hardswish", "silu"}
"""Functions for which torch has no value of an integer either."""


def _float(name: str) -> Callable[[Call], None]:
    dtype = FLOAT if name in OF_FLOATS_ONLY else None

    def read(call: Call) -> None:
        emit_unary(call, name, call.tensor("self", dtype=dtype), call.output("out"))

    return read


for _name in FLOATS:
    program_op(f"aten::{_name}.out(Tensor self, *, Tensor(a!) out)")(_float(_name))
