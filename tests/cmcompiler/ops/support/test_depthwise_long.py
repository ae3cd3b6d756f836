"""Schemes by pixels in the lanes are chosen where they are faster, within what rounds hold."""

from __future__ import annotations

import pytest
from harness.convolutions import Numbers

from cmcompiler.isa import Isa
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.support.depthwise_long import MOST_TAPS, choose
from cmcompiler.ops.support.depthwise_schemes import MOST_ROUNDS, Scheme
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window


def scheme(
    kernel: tuple[int, int],
    image: tuple[int, int],
    *,
    channels: int = 64,
    isa: Isa = Isa.MVE,
    shift: int = -9,
    **window: tuple[int, int],
) -> Scheme | None:
    places = Window(kernel, **window)
    ends = Requantize.checked([1 << 30], [shift], channels, zero_point=0, minimum=-128, maximum=127)
    shape = (1, *places.output_size(image), channels)
    weights, bias = Numbers(0).int8(*kernel, channels), Numbers(0).biases(channels)
    filters = DepthwiseConv2d(weights, bias, places, 0, ends, shape).filters(
        weights.reshape(-1, channels).T
    )
    return choose(filters, places, (1, *image, channels), shape, isa)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("length", [20, 28, 100, 1000])
def test_lines_of_many_channels_take_rounds(axis: int, length: int) -> None:
    kernel, image = ((5, 1), (length, 1)) if axis == 0 else ((1, 5), (3, length))
    chosen = scheme(kernel, image)
    assert chosen is not None and chosen.family == "depthwise_conv2d_long"
    assert chosen.band * chosen.bands <= 8 * MOST_ROUNDS
    outputs = min(length - 4, 8 * MOST_ROUNDS)
    assert chosen.chunk * chosen.portions >= outputs
    words = chosen.chunk // 4 + 3
    assert chosen.workspace + chosen.base >= 64 * words


def test_other_windows_do_not() -> None:
    assert scheme((5, 1), (28, 2)) is None
    assert scheme((3, 1), (28, 1)) is None
    assert scheme((MOST_TAPS + 1, 1), (60, 1)) is None
    assert scheme((5, 1), (28, 1), stride=(2, 1)) is None
    assert scheme((5, 1), (28, 1), dilation=(2, 1)) is None
    assert scheme((1, 5), (3, 28), padding=(1, 0)) is None
    assert scheme((5, 1), (6, 1)) is None
    assert scheme((5, 1), (28, 1), shift=2) is None
    assert scheme((5, 1), (28, 1), isa=Isa.DSP) is None
