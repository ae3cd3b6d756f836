"""The loop over time of recurrent layers with int16 activations, as its kernels take it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from cmcompiler.ir.layout import INLINE, Int32, Place, Struct
from cmcompiler.ir.op import Packed, Scratch
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.support import nibbles
from cmcompiler.ops.support.packing16 import Filters16
from cmcompiler.ops.support.recurrence import NONE, LoopSizes, Recurrence
from cmcompiler.ops.support.short_gates import FineGateProduct, ShortGateProduct


@dataclass(frozen=True)
class PackedShortProduct(Struct):
    """Constant weights, as products of matrices read them."""

    c_name = "cm_short_gate_product"

    weights: Place
    depth: Annotated[Int32, "bytes of a row"]


@dataclass(frozen=True)
class PackedShortLayer(Struct):
    """The loop over time. Steps are in bytes and negative if time runs backwards: the first row of
    input and output is that of the step computed first.
    """

    c_name = "cm_short_recurrence"

    input: Place
    output: Place
    gates: Place
    products: Annotated[Place, "of the preceding outputs"]
    workspace: Place
    blank: Annotated[Place, "zeros; CM_REF_NONE if initial outputs precede the first output"]
    input_product: PackedShortProduct
    hidden_product: PackedShortProduct
    low_input_product: Annotated[PackedShortProduct, "of the lower bits; CM_REF_NONE without any"]
    low_hidden_product: PackedShortProduct
    sizes: Annotated[LoopSizes, INLINE]


def short_layer(
    op: Recurrence, sequence: Tensor, output: Tensor, isa: Isa, *, may_be_narrow: bool = True
) -> tuple[PackedShortLayer, Filters16]:
    """The loop over time, and filters that tell the kernel and its microkernel.

    Args:
        may_be_narrow: the layer has a kernel for weights of four bits.
    """
    products = [op.input_product, op.hidden_product]
    lows = [each.low if isinstance(each, FineGateProduct) else None for each in products]
    chosen = [each if isinstance(each, ShortGateProduct) else None for each in (*products, *lows)]
    banks = [
        None if each is None else each.filters.narrowed if may_be_narrow else each.filters
        for each in chosen
    ]
    is_short = all(each.is_short for each in banks if each is not None)
    filters = [replace(each, is_short=is_short) for each in banks if each is not None]
    is_narrow = any(each.is_narrow for each in filters)
    packed = [
        PackedShortProduct(NONE, 0)
        if each is None
        else _packed(replace(each, is_short=is_short), isa, narrow=is_narrow)
        for each in banks
    ]
    first, result, sizes = op.loop(sequence, output)
    layer = PackedShortLayer(
        input=first,
        output=result,
        gates=Scratch(2 * op.gates_per_unit * op.units),
        products=Scratch(2 * max(len(each.weights) for each in filters)),
        workspace=Scratch(max(each.workspace(isa, rows=1) for each in filters)),
        blank=NONE if op.walk.has_initial else Scratch(2 * op.hidden_product.depth),
        input_product=packed[0],
        hidden_product=packed[1],
        low_input_product=packed[2],
        low_hidden_product=packed[3],
        sizes=sizes,
    )
    return layer, replace(filters[0], is_narrow=is_narrow)


def _packed(filters: Filters16, isa: Isa, *, narrow: bool) -> PackedShortProduct:
    """
    Args:
        narrow: for the microkernel that takes weights of four bits.
    """
    packed = filters.packed(isa)
    weights = nibbles.plain(packed) if narrow and not filters.is_narrow else packed
    return PackedShortProduct(Packed(weights), 2 * filters.weights.shape[1])
