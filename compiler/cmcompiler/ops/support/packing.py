"""Weights as the microkernels of each instruction set read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support import nibbles
from cmcompiler.ops.support.filters import Filters, once
from cmcompiler.ops.support.helium_products import (
    DEEP_GEMM,
    DENSE_GEMM,
    FIXED_GEMM,
    SHALLOW_GEMM,
    depth_suffix,
    has_own_loops,
    loop,
    narrow_loop,
)
from cmcompiler.ops.support.nibbles import NibbleBlock
from cmcompiler.ops.support.requantize import (
    Rounding,
)
from cmcompiler.ops.support.weight_orders import (
    SHALLOW_DEPTH,
    dsp_narrow,
    gemm_dsp,
    gemm_dsp_apart,
    gemm_dsp_wide,
    gemm_mve,
    gemm_mve_narrow,
    gemm_scalar,
    gemv_dsp,
    gemv_dsp_wide,
    gemv_mve,
    gemv_mve_narrow,
    is_shallow,
    scalar_narrow,
)

GEMM = Microkernel("gemm_s8", dsp=True, mve=True)
WIDE_GEMM = Microkernel("gemm_s8_w16", dsp=True)
WIDE_GEMV = Microkernel("gemv_s8_w16", dsp=True)
APART_GEMM = Microkernel("gemm_s8_apart", dsp=True, mve=True)
NARROW_GEMM = Microkernel("gemm_s8_w4", dsp=True, mve=True)
NARROW_GEMV = Microkernel("gemv_s8_w4", dsp=True, mve=True)
GROUPED_GEMM = Microkernel("gemm_s8_g4", dsp=True, mve=True)
GROUPED_GEMV = Microkernel("gemv_s8_g4", dsp=True, mve=True)
GEMMS = (GEMM, WIDE_GEMM, NARROW_GEMM, GROUPED_GEMM)
ALL_GEMMS = (*GEMMS, APART_GEMM, SHALLOW_GEMM, DEEP_GEMM, DENSE_GEMM, FIXED_GEMM)
PACK_ROWS = Microkernel("pack_rows_s8", dsp=True, mve=True)
PACKED_ROWS = 4
"""CM_PACKED_ROWS of cmrt/isa.h."""
GEMV = Microkernel("gemv_s8", dsp=True, mve=True)
GEMVS = (GEMV, WIDE_GEMV, NARROW_GEMV, GROUPED_GEMV)
GEMV16 = Microkernel("gemv_s16", dsp=True, mve=True)
NARROW_GEMV16 = Microkernel("gemv_s16_w4", dsp=True, mve=True)

T = TypeVar("T")

Order = Callable[[Filters], bytes]


def _row_dsp(filters: Filters) -> bytes:
    return gemv_dsp(filters, filters.factors)


_GEMM_ORDERS = {Isa.SCALAR: gemm_scalar, Isa.DSP: gemm_dsp, Isa.MVE: gemm_mve}
_GEMV_ORDERS = {Isa.SCALAR: gemm_scalar, Isa.DSP: _row_dsp, Isa.MVE: gemv_mve}


def is_wide(isa: Isa, wide: bool) -> bool:
    """Whether weights are of int16: if requested, for cores with no more than the DSP extension."""
    return wide and isa is Isa.DSP


def is_apart(filters: Filters, isa: Isa, wide: bool) -> bool:
    """Whether products of several rows with the DSP extension cannot read their bytes in pairs."""
    has_bytes = isa is Isa.DSP and not wide and not filters.is_narrow
    return has_bytes and not filters.suits_pairs


def width_suffix(filters: Filters, isa: Isa, wide: bool) -> str:
    """The end of the names of kernel families whose cost depends on the bits of a weight."""
    return _of_weights(filters, isa, wide, ("", "_w16", "_w4", "_g4"))


def gemm(
    filters: Filters, isa: Isa, wide: bool = False, stride: int = 0
) -> tuple[str, Microkernel]:
    """The end of the name of a kernel that multiplies so, and its microkernel.

    Args:
        stride: bytes from one row to the next, if those are known.
    """
    if has_own_loops(filters, isa):
        own, microkernel = loop(filters, stride)
        return own + _half_up(filters, isa) + filters.clamp_suffix(isa), microkernel
    suffix = product(filters, isa, wide) + filters.clamp_suffix(isa)
    if filters.groups is None and is_apart(filters, isa, wide):
        return suffix, APART_GEMM
    if stride and multiplies_nibbles(filters, isa) and (depths := narrow_loop(filters)):
        return f"_w4{depths}{_half_up(filters, isa)}{filters.clamp_suffix(isa)}", FIXED_GEMM
    return suffix, _of_weights(filters, isa, wide, GEMMS)


def product(filters: Filters, isa: Isa, wide: bool = False) -> str:
    """The suffix of `gemm` without the clamp: kernels that share it share their loops."""
    variant = gemm_suffix(filters, isa, wide) + general_suffix(filters, isa)
    depths = depth_suffix(filters) if has_own_loops(filters, isa) else ""
    return variant + depths + _half_up(filters, isa)


def gemm_suffix(filters: Filters, isa: Isa, wide: bool = False) -> str:
    """The suffix of `gemm` without what depends on outputs."""
    apart = "_apart" if is_apart(filters, isa, wide) else ""
    return width_suffix(filters, isa, wide) + apart


def gemv(filters: Filters, isa: Isa, wide: bool = False) -> tuple[str, Microkernel]:
    """The end of the name, and the microkernel, for one row."""
    variant = width_suffix(filters, isa, wide) + general_suffix(filters, isa)
    suffix = variant + filters.clamp_suffix(isa)
    return suffix, _of_weights(filters, isa, wide, GEMVS)


def _half_up(filters: Filters, isa: Isa) -> str:
    """The end of the name of a kernel with a loop for outputs that round half up: with Helium."""
    has_loop = isa is Isa.MVE and filters.rounding is Rounding.HALF_UP
    return "_half_up" if has_loop else ""


def general_suffix(filters: Filters, isa: Isa) -> str:
    return "_general" if filters.is_general(isa) else ""


def family_suffix(filters: Filters, isa: Isa, wide: bool) -> str:
    """The end of the name of the kernels whose work costs the same: loops that take all outputs
    cost twice as much as others.
    """
    return width_suffix(filters, isa, wide) + general_suffix(filters, isa)


def _of_weights(filters: Filters, isa: Isa, wide: bool, choices: tuple[T, T, T, T]) -> T:
    """The choice for weights of eight, sixteen or four bits, or of four bits in groups."""
    if is_wide(isa, wide):
        return choices[1]
    if filters.groups is not None:
        return choices[3]
    return choices[2] if filters.is_narrow else choices[0]


def multiplies_nibbles(filters: Filters, isa: Isa) -> bool:
    """Whether Helium multiplies several rows by weights of four bits that it does not unpack."""
    is_narrow = isa is Isa.MVE and filters.is_narrow and filters.groups is None
    return is_narrow and not unpacks_for_rows(filters, isa)


@once
def gemm_weights(
    filters: Filters, isa: Isa, wide: bool = False, layer: Filters | None = None
) -> bytes:
    """For the microkernel of `gemm`: filters are the columns of the product.

    Args:
        layer: all filters, if these are a group of them.
    """
    if is_wide(isa, wide):
        return gemm_dsp_wide(filters)
    order = _GEMM_ORDERS[GEMM.provider(isa)]
    if is_apart(layer or filters, isa, wide):
        order = gemm_dsp_apart
    if filters.groups is not None:
        return _grouped(filters, isa, order, _gemm_block(filters, isa))
    if not filters.is_narrow:
        return order(filters)
    if isa is not Isa.MVE:
        return dsp_narrow(filters) if isa is Isa.DSP else scalar_narrow(filters)
    if unpacks_for_rows(filters, isa):
        return nibbles.packed(gemm_mve(filters), _gemm_block(filters, isa))
    return nibbles.plain(gemm_mve_narrow(filters))


@once
def gemv_weights(filters: Filters, isa: Isa, wide: bool = False) -> bytes:
    """For the microkernel of `gemv`: filters are the columns of the matrix."""
    if is_wide(isa, wide):
        return gemv_dsp_wide(filters)
    if filters.groups is not None:
        return _grouped(filters, isa, _GEMV_ORDERS[GEMV.provider(isa)], _gemv_block(filters, isa))
    if not filters.is_narrow:
        return _GEMV_ORDERS[GEMV.provider(isa)](filters)
    if isa is not Isa.MVE:
        return dsp_narrow(filters) if isa is Isa.DSP else scalar_narrow(filters)
    if _unpacks_for_a_row(filters, isa):
        return nibbles.packed(gemv_mve(filters), _gemv_block(filters, isa))
    return nibbles.plain(gemv_mve_narrow(filters))


def _unpacks_for_a_row(filters: Filters, isa: Isa) -> bool:
    """Whether weights of four bits become bytes before they are multiplied by one row.

    Helium multiplies them as they are if pairs of them fit a byte, the others always.
    """
    if not filters.is_narrow or isa is not Isa.MVE:
        return False
    return filters.is_general(isa) or bool(filters.weights.min() <= nibbles.LEAST)


def unpacks_for_rows(filters: Filters, isa: Isa) -> bool:
    """Whether they become bytes for several rows: shallow ones have loops of their own."""
    has_own = filters.is_narrow and isa is Isa.MVE and is_shallow(filters)
    return has_own or _unpacks_for_a_row(filters, isa)


def _gemm_block(filters: Filters, isa: Isa) -> NibbleBlock:
    """How the blocks of `_GEMM_ORDERS` are made up."""
    channels, depth = filters.weights.shape
    columns, chunk, before, after = 4, 8, 48, 0
    if isa is Isa.DSP:
        columns, chunk, before, after = 2, 4, 16, 16
    elif isa is Isa.MVE:
        columns = 2 if is_shallow(filters) else 4
        chunk, before = 16, 12 * columns
    return NibbleBlock(channels, depth, columns, chunk, before, after, _group(filters))


def _gemv_block(filters: Filters, isa: Isa) -> NibbleBlock:
    """How the blocks of `_GEMV_ORDERS` are made up."""
    channels, depth = filters.weights.shape
    if isa is Isa.MVE:
        return NibbleBlock(channels, depth, 8, 16, after=96, group=_group(filters))
    if isa is Isa.DSP:
        return NibbleBlock(channels, depth, 4, 4, 16, 32, _group(filters))
    return _gemm_block(filters, isa)


def _group(filters: Filters) -> int:
    return 0 if filters.groups is None else filters.groups.size


def _grouped(filters: Filters, isa: Isa, order: Order, block: NibbleBlock) -> bytes:
    """Weights of four bits and factors, as unpack_groups() of each instruction set reads them."""
    groups = filters.groups
    assert groups is not None
    of_halves = gemm_dsp_apart if order is gemm_dsp else order
    halves = of_halves(replace(filters, weights=groups.nibbles))
    word, raised = {Isa.SCALAR: (1, 7), Isa.DSP: (4, 7), Isa.MVE: (nibbles.WORD, 0)}[isa]
    return nibbles.packed(
        order(filters), block, halves=halves, factors=groups.factors, word=word, raised=raised
    )


def gemv16_weights(filters: Filters, isa: Isa) -> bytes:
    """For cm_isa_gemv_s16: filters are the gates, whose range and zero point are not used."""
    if GEMV16.provider(isa) is Isa.DSP:
        return gemv_dsp(filters, filters.rescale_dsp)
    return gemv_weights(replace(filters, is_narrow=False), isa)


def narrow_gemv16_weights(filters: Filters, isa: Isa) -> bytes:
    """For cm_isa_gemv_s16_w4, which takes weights of eight bits as well."""
    blocks = gemv16_weights(filters, isa)
    if not filters.is_narrow:
        return nibbles.plain(blocks)
    word, raised = (nibbles.WORD, 0) if GEMV16.provider(isa) is Isa.MVE else (4, 8)
    return nibbles.packed(blocks, _gate_block(filters, isa), word=word, raised=raised)


def _gate_block(filters: Filters, isa: Isa) -> NibbleBlock:
    """How the blocks of `gemv16_weights` are made up."""
    if isa is Isa.DSP:
        channels, depth = filters.weights.shape
        return NibbleBlock(channels, depth, 4, 4, before=16, after=48)
    return _gemv_block(filters, isa)


def wastes_little(count: int, rows: int) -> bool:
    """Whether so many rows, of which a product computes some at once, leave few to compute twice.

    Patches take as long as one row in sixteen.
    """
    return 16 * (-count % rows) <= count


def gemm_rows(depth: int, isa: Isa) -> int:
    """Rows that cm_isa_gemm_s8 takes at once."""
    is_shallow = isa is Isa.MVE and depth <= SHALLOW_DEPTH
    return 4 if isa is Isa.DSP or is_shallow else 2


def has_row_alone(rows: int, isa: Isa) -> bool:
    """Whether cm_isa_gemm_s8 takes the last row by itself."""
    return isa is Isa.DSP and rows in (1, 5)


def spare_rows(rows: int, depth: int, isa: Isa) -> int:
    """Rows that cm_isa_gemm_s8 computes in vain."""
    if isa is Isa.DSP:  # it takes fours, threes and a row alone
        return 1 if rows == 2 else 0
    at_once = gemm_rows(depth, isa)
    is_one_by_one = at_once > 2 and rows < at_once
    return 3 * rows if is_one_by_one else -rows % at_once


def gemm_workspace(filters: Filters, isa: Isa, rows: int) -> int:
    """Bytes of workspace that cm_isa_gemm_s8 needs.

    Args:
        rows: of a product, or a divisor of those of each.
    """
    depth: int = filters.weights.shape[1]
    if filters.is_narrow and isa is Isa.DSP:
        return 8 + max(1, -(-depth // 4)) * 16  # two rows in 16 bits
    unpacks = filters.groups is not None or unpacks_for_rows(filters, isa)
    unpacked = _gemm_block(filters, isa).unpacked if unpacks else 0
    only_fours = rows % 4 == 0 and not filters.is_general(isa)
    return (
        unpacked
        + {
            Isa.SCALAR: -(-depth // 8) * 32,
            # Four rows of paired bytes, or three of single ones in 16 bits.
            Isa.DSP: max(1, -(-depth // 4)) * (16 if only_fours else 24),
            Isa.MVE: 0,
        }[GEMM.provider(isa)]
    )


def packs_rows(filters: Filters, isa: Isa) -> bool:
    """Whether cm_isa_pack_rows_s8 saves work: a product packs its rows anyway."""
    return isa is Isa.DSP and not filters.is_general(isa)


def packed_workspace(filters: Filters, isa: Isa) -> int:
    """Bytes of workspace that cm_isa_gemm_s8 needs after cm_isa_pack_rows_s8."""
    if isa is Isa.DSP:
        return gemm_workspace(filters, isa, PACKED_ROWS)
    depth: int = filters.weights.shape[1]
    return -(-depth // 8) * 32 + PACKED_ROWS * depth + 16  # that may be read after the last row


def narrow_workspace(filters: Filters, isa: Isa) -> int:
    """Bytes of workspace that cm_isa_gemv_s8_w4 and cm_isa_gemv_s8_g4 need."""
    unpacks = filters.groups is not None or _unpacks_for_a_row(filters, isa)
    unpacked = _gemv_block(filters, isa).unpacked if unpacks else 0
    return unpacked + gemv_workspace(filters.weights.shape[1], isa)


def narrow_gates_workspace(filters: Filters, isa: Isa) -> int:
    """Bytes of workspace for unpacked weights of cm_isa_gemv_s16_w4."""
    return _gate_block(filters, isa).unpacked if filters.is_narrow else 0


def gemv_workspace(depth: int, isa: Isa) -> int:
    """Bytes of workspace that cm_isa_gemv_s8 and cm_isa_gemv_s16 need, for any columns."""
    return {
        Isa.SCALAR: -(-depth // 8) * 8,
        Isa.DSP: 4 + max(1, -(-depth // 4)) * 8,
        Isa.MVE: 0,
    }[GEMV.provider(isa)]


def patch_stride(depth: int, isa: Isa) -> int:
    """Bytes from one row of a gathered matrix to the next."""
    del isa
    return -(-depth // 16) * 16
