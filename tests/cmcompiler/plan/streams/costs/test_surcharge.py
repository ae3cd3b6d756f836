"""What bands of rows cost more than whole images."""

from __future__ import annotations

import numpy as np
import pytest
from harness.convolutions import Numbers

from cmcompiler.ir.graph import Node
from cmcompiler.ir.op import GrowableScratch, RowCall
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.streams.costs.effort import effort
from cmcompiler.plan.streams.costs.growth import Growth
from cmcompiler.plan.streams.costs.surcharge import surcharge

SIZE, CHANNELS = 24, 16
NUMBERS = Numbers(0)
SHAPE = (1, SIZE, SIZE, CHANNELS)
AROUND, INSIDE = Window((3, 3), padding=(1, 1)), Window((1, 1))
INT8 = np.dtype(np.int8)


def node(kind: str) -> Node:
    ends = Requantize.checked([1 << 30], [-9], CHANNELS, zero_point=0, minimum=-128, maximum=127)
    biases = NUMBERS.biases(CHANNELS)
    op: Conv2d | DepthwiseConv2d
    if kind == "depthwise":
        op = DepthwiseConv2d(NUMBERS.int8(3, 3, CHANNELS), biases, AROUND, 0, ends, SHAPE)
    elif kind == "windows":
        op = Conv2d(NUMBERS.int8(CHANNELS, 3, 3, CHANNELS), biases, AROUND, 0, ends, SHAPE)
    else:
        op = Conv2d(NUMBERS.int8(CHANNELS, 1, 1, CHANNELS), biases, INSIDE, 0, ends, SHAPE)
    return Node(op, (Tensor("x", INT8, SHAPE),), (Tensor("y", INT8, SHAPE),), kind)


def row_call(node: Node, isa: Isa, band: int) -> RowCall:
    (call,) = node.op.row_calls(node.inputs, node.outputs, isa)
    return call.banded(band)


@pytest.mark.parametrize("isa", Isa)
@pytest.mark.parametrize("kind", ["depthwise", "windows", "pixels"])
def test_more_rows_at_once_cost_less_and_all_of_them_almost_nothing(kind: str, isa: Isa) -> None:
    layer = node(kind)
    costs = [surcharge(layer, row_call(layer, isa, band), isa).at(1 << 20) for band in (1, 4, SIZE)]
    assert costs == sorted(costs, reverse=True)
    whole = effort(layer, [row_call(layer, isa, 1).call], isa)
    assert 0 < costs[-1] < whole / 100


@pytest.mark.parametrize("isa", Isa)
@pytest.mark.parametrize("kind", ["depthwise", "windows"])
def test_more_scratch_never_costs_more(kind: str, isa: Isa) -> None:
    layer = node(kind)
    call = row_call(layer, isa, 2)
    grown = Growth.of(layer, call.call, isa)
    if grown is None:
        return
    price = surcharge(layer, call, isa)
    costs = [price.with_units(units) for units in range(1, grown.most + 1)]
    assert costs == sorted(costs, reverse=True)
    assert grown.more_whole(grown.most) == 0


def test_a_row_alone_has_a_kernel_of_its_own_with_helium() -> None:
    layer = node("depthwise")
    alone, two = (row_call(layer, Isa.MVE, band) for band in (1, 2))
    assert alone.is_alone and not two.is_alone
    assert alone.call.kernel == two.call.kernel.replace("3x3", "3x3_row")
    costs = [surcharge(layer, call, Isa.MVE).at(1 << 20) for call in (alone, two)]
    assert costs[1] < costs[0] < effort(layer, [two.call], Isa.MVE) / 2


def test_windows_of_a_row_share_columns_with_helium() -> None:
    """Patches of 3×3 pixels would take nine times a row of the image, a strip takes three."""
    call = row_call(node("windows"), Isa.MVE, 1).call
    assert call.kernel.startswith("strip_conv2d")
    (strip,) = (word for _, word in call.arguments if isinstance(word, GrowableScratch))
    row = SIZE * CHANNELS
    assert 3 * row < strip.unit * strip.most < 4 * row
