"""Depthwise convolutions with kernels of one row or column, by pixels in the lanes of Helium."""

from __future__ import annotations

from cmcompiler.isa import Isa
from cmcompiler.ops.support.depthwise_packing import pack_long_mve
from cmcompiler.ops.support.depthwise_schemes import LONG, MOST_ROUNDS, Scheme
from cmcompiler.ops.support.filters import Filters
from cmcompiler.ops.support.requantize import Rounding
from cmcompiler.ops.support.window import Window

LEAST_TAPS = 4
"""Taps of a kernel at least: three have a loop of their own."""

MOST_TAPS = 13
"""Taps of a kernel at most: patches of 16 pixels give four outputs."""

_OUTPUTS = 8
"""Pixels of a round."""

_LEAST_ROUNDS = 3
"""Rounds at once, if there are so many."""

_LANES = 16


def choose(
    filters: Filters,
    window: Window,
    image: tuple[int, ...],
    output_shape: tuple[int, ...],
    isa: Isa,
) -> Scheme | None:
    """The scheme in rounds of eight pixels, each channel by itself; None if another is faster.

    The workspace holds words of four pixels, their addresses, and a pixel of padding.

    Args:
        filters: one for each channel; weights are [channels, taps].
        image: the input's shape.
    """
    axis = 1 if window.kernel[0] == 1 else 0
    is_line = axis == 1 or image[2] == output_shape[2] == window.kernel[1] == 1
    if not is_line or window.padding[1 - axis] > 0:
        return None
    if window.stride[axis] != 1 or window.dilation[axis] != 1:
        return None
    if not LEAST_TAPS <= window.area <= MOST_TAPS:
        return None
    if LONG.provider(isa) is not Isa.MVE or filters.is_general(isa):
        return None
    outputs, channels = output_shape[1 + axis], output_shape[3]
    if not _is_faster(outputs, channels, window.area):
        return None
    rounds = -(-outputs // _OUTPUTS)
    least, most = min(rounds, _LEAST_ROUNDS), min(rounds, MOST_ROUNDS)
    base = max(80 * -(-(window.area - 1) // 4), 192 - 32 * least)
    if window.padding[axis] > 0 or outputs + window.area - 1 > image[1 + axis]:
        base += -(-channels // _LANES) * _LANES
    rounding = "_half_up" if filters.rounding is Rounding.HALF_UP else ""
    return Scheme(
        f"depthwise_conv2d_long{rounding}",
        LONG,
        pack_long_mve(filters),
        band=1 if axis else _OUTPUTS,
        chunk=_OUTPUTS * least,
        workspace=160 * least,
        portions=-(-most // least),
        bands=1 if axis else most,
        base=base,
    )


def _is_faster(outputs: int, channels: int, taps: int) -> bool:
    """Whether pixels in the lanes take fewer cycles of a Cortex-M55 than channels in the lanes.

    The figures are those of the loops, with what begins a channel and a block of channels.
    """
    rounds, blocks = -(-outputs // _OUTPUTS), -(-channels // _LANES)
    pixels = channels * (31 * rounds + 18) + blocks * (60 * rounds + 100)
    return 16 * pixels < channels * outputs * (57 + 26 * -(-taps // 2))
