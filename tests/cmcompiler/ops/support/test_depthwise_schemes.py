"""Schemes of depthwise convolutions ask no more of a microkernel than it holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from harness.convolutions import Numbers

from cmcompiler.isa import Isa
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.support import depthwise_schemes
from cmcompiler.ops.support.depthwise_schemes import Scheme, choose
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window

NUMBERS = Numbers(0)
RUNTIME = Path(__file__).parents[4] / "runtime"
ROUND = {"": 4, "_row": 8, "_stride_2": 8}
"""Columns of outputs that Helium makes at once, by the kernel's suffix."""


def scheme(height: int, width: int, stride: tuple[int, int]) -> Scheme | None:
    window = Window((3, 3), stride, padding=(1, 1))
    ends = Requantize.checked([1 << 30], [-9], 1, zero_point=0, minimum=-128, maximum=127)
    shape = (1, height, width, 1)
    op = DepthwiseConv2d(NUMBERS.int8(3, 3, 1), NUMBERS.biases(1), window, 0, ends, shape)
    filters = op.filters(op.weights.reshape(9, 1).T)
    return choose(filters, window, width * stride[1], shape, Isa.MVE)


@pytest.mark.parametrize(
    ("source", "limit", "name"),
    [
        ("mve/depthwise_loops.h", "MOST_ROUNDS", "MOST_ROUNDS"),
        ("mve/depthwise_3x3_s16.c", "MOST_ROUNDS", "MOST_SHORT_ROUNDS"),
        ("mve/depthwise_3x3_s16.c", "MOST_BANDS", "MOST_SHORT_BANDS"),
        ("dsp/depthwise_bands.h", "MOST_BANDS", "MOST_BANDS"),
    ],
)
def test_limits_are_those_of_the_microkernels(source: str, limit: str, name: str) -> None:
    matches = re.search(rf"{limit} = (\d+)", (RUNTIME / "isa" / source).read_text())
    assert matches is not None and int(matches[1]) == getattr(depthwise_schemes, name)


@pytest.mark.parametrize("stride", [(1, 1), (2, 1), (2, 2)])
@pytest.mark.parametrize("height", [1, 3, 8, 20])
def test_the_table_of_rounds_holds_all_columns(height: int, stride: tuple[int, int]) -> None:
    for width in range(3, 130):
        actual = scheme(height, width, stride)
        assert actual is not None
        if actual.microkernel is depthwise_schemes.FOR_3X3:
            suffix = actual.kernel.removeprefix("depthwise_conv2d_3x3").removesuffix("_half_up")
            columns = actual.portions * actual.chunk
            assert columns <= depthwise_schemes.MOST_ROUNDS * ROUND[suffix]
