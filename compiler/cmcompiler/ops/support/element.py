"""Element types of the portable operators, and the types they compute in."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.op import Array
from cmcompiler.ir.tensor import Tensor

CODES = {
    np.dtype(name): code
    for code, name in enumerate(["bool", "uint8", "int8", "int16", "int32", "int64", "float32"])
}
"""enum cm_element of cmrt/element.h."""

DOUBLE = np.dtype(np.float64)
"""Only converted from and to; no kernel computes with it."""

INTEGER = np.dtype(np.int64)
FLOAT = np.dtype(np.float32)

Scalar = int | float | bool


def check_element(call: Call, dtype: np.dtype[Any]) -> None:
    """Raises Unsupported for a type that no kernel computes with."""
    if dtype not in CODES:
        hint = "convert it to float32 first" if dtype == DOUBLE else None
        call.unsupported(f"no kernel computes with {dtype.name}", hint)


def code(tensor: Tensor) -> int:
    return len(CODES) if tensor.dtype == DOUBLE else CODES[tensor.dtype]


def converted(x: Array, dtype: np.dtype[Any]) -> Array:
    """As cm_cast converts: floats towards zero and saturated to 64 bits, the low bits of integers.

    NaN becomes 0, and any number but 0 a true bool.
    """
    if dtype == np.bool_ or x.dtype.kind != "f" or dtype.kind == "f":
        with np.errstate(over="ignore"):
            return x.astype(dtype)
    limits = np.iinfo(np.int64)
    with np.errstate(invalid="ignore"):
        inside = (x >= limits.min) & (x < -float(limits.min))
        whole = np.where(inside, x, 0).astype(np.int64)
    saturated = np.where(x > 0, limits.max, limits.min)
    exact = np.where(inside | np.isnan(x), whole, saturated)
    return exact.astype(dtype)
