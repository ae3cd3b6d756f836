"""Products with Helium by their depths: an image links the loops of those that its layers have."""

from __future__ import annotations

from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.filters import Filters
from cmcompiler.ops.support.requantize import Rounding
from cmcompiler.ops.support.weight_orders import is_shallow

DEEP_GEMM = Microkernel("gemm_s8_deep", mve=True)
SHALLOW_GEMM = Microkernel("gemm_s8_shallow", mve=True)
DENSE_GEMM = Microkernel("gemm_s8_dense", mve=True)
FIXED_GEMM = Microkernel("gemm_s8_w4_fixed", mve=True)

_CHUNK = 16
"""Depths that are multiplied at once."""

_SHALLOW_STRIDES = {Rounding.HALF_UP: ((8, 16), (32,)), Rounding.RIGHT: ((16,), ())}
"""Distances of rows that loops for one and for two chunks advance by."""

_DEEP_STRIDES = (64, 128)
"""Distances of rows that loops for more chunks advance by: their depths, where outputs round half
up.
"""

_NARROW_DEPTHS = (64, 128)
"""Depths, with those that are up to, of loops for weights of four bits."""


def has_own_loops(filters: Filters, isa: Isa) -> bool:
    return isa is Isa.MVE and not filters.holds_nibbles and not filters.is_general(isa)


def depth_suffix(filters: Filters) -> str:
    """The part of a kernel's name that tells shallow products from deep ones."""
    return "_shallow" if is_shallow(filters) else "_deep"


def loop(filters: Filters, stride: int) -> tuple[str, Microkernel]:
    """The part of a kernel's name, and its microkernel, for rows so many bytes apart."""
    chunks = -(-filters.weights.shape[1] // _CHUNK)
    is_half_up = filters.rounding is Rounding.HALF_UP
    depths = depth_suffix(filters)
    if is_shallow(filters):
        is_dense = stride in _SHALLOW_STRIDES[filters.rounding][chunks - 1]
        return depths + "_dense" if is_dense else depths, SHALLOW_GEMM
    if is_half_up and stride in _DEEP_STRIDES and chunks * _CHUNK == stride:
        return f"_dense_{stride}", DENSE_GEMM
    return depths, DEEP_GEMM


def narrow_loop(filters: Filters) -> str:
    """The part of a kernel's name for weights of four bits that are multiplied as they are; "" if
    they have no loop for their depths.
    """
    depth = -(-filters.weights.shape[1] // _CHUNK) * _CHUNK
    return f"_{depth}" if depth in _NARROW_DEPTHS else ""
