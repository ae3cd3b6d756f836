"""How depthwise convolutions are computed: by which kernel, from what bytes, in what portions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.depthwise_packing import (
    bytes_of,
    pack_3x3_apart,
    pack_3x3_dsp,
    pack_3x3_mve,
    pack_5x5_mve,
    pack_fours,
)
from cmcompiler.ops.support.filters import Filters, once
from cmcompiler.ops.support.packing16 import Filters16
from cmcompiler.ops.support.requantize import Rounding
from cmcompiler.ops.support.window import Window

ANY = Microkernel("depthwise_s8", dsp=True, mve=True)
FOR_3X3 = Microkernel("depthwise_3x3_s8", dsp=True, mve=True)
FOR_3X3_SHORT = Microkernel("depthwise_3x3_s16", dsp=True, mve=True)
"""For int16 images."""
FOR_5X5 = Microkernel("depthwise_5x5_s8", mve=True)
LONG = Microkernel("depthwise_long_s8", mve=True)
"""For kernels of one row or column."""
SHARED = Microkernel("depthwise_shared_s8", dsp=True, mve=True)
"""For several filters of each channel."""
CHANNELS = Microkernel("depthwise_channels_s8", mve=True)
"""For some of the channels."""
GROUPED = Microkernel("grouped_s8", mve=True)
"""For groups of few channels."""

_SIZES = {
    FOR_3X3: "_3x3",
    FOR_3X3_SHORT: "_3x3_s16",
    FOR_5X5: "_5x5",
    LONG: "_long",
    SHARED: "_shared",
    GROUPED: "_grouped",
    CHANNELS: "_channels",
}

OFFSETS = 1 << 16
"""MVE stores eight outputs at once, at offsets of 16 bits."""

LEAST_CHUNK = 20
"""Input columns at once, if there are so many: more of them cost memory, fewer instructions."""

LEAST_PART = 8
"""Least part with MVE for kernels of 3x3, whose workspace grows in steps of so many."""

MOST_BANDS = 4
"""Bands at once with DSP: MOST_BANDS of runtime/isa/dsp/depthwise_3x3_s8.c."""

MOST_ROUNDS = 14
"""Rounds at once with MVE: MOST_ROUNDS of runtime/isa/mve/depthwise_loops.h."""

MOST_SHORT_ROUNDS = 16
"""The same for int16 images: MOST_ROUNDS of runtime/isa/mve/depthwise_3x3_s16.c."""

MOST_SHORT_BANDS = 8
"""MOST_BANDS there."""

MOST_ROW_CHANNELS = 48
"""Channels of images whose pixels are computed together with MVE for any kernel. Of more, finding
the taps of each pixel costs little, and memory for rows is large."""

MOST_ROW_WEIGHTS = 4096
"""Bytes of packed weights, repeated until they fill whole vectors, for that."""

MOST_ROW_SPACE = 1024
"""Bytes that some pixels take at least, for that."""

ROW_SPACE = 512
"""Bytes that may be taken in any case, for as many pixels as that holds."""

MOST_DIVIDED = 11
"""Bits that a multiplication shifts to the right with MVE, as in runtime/isa/mve/mul_right_s8.c."""

WORKSPACE = 4224
"""Bytes of interleaved columns at once, if there are so many."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """A way to compute a depthwise convolution.

    Attributes:
        kernel: without the prefix cm_.
        weights: packed for the microkernel.
        band: output rows that are computed together.
        chunk: output columns at once, at least.
        workspace: bytes, for so many columns.
        portions: how many times as many there may be of both.
        bands: at once, at most.
        base: bytes of workspace besides.
        loop: end of the family's name, of a loop of its own for some weights.
    """

    kernel: str
    microkernel: Microkernel
    weights: bytes
    band: int
    chunk: int
    workspace: int
    portions: int = 1
    bands: int = 1
    base: int = 0
    loop: str = ""

    @property
    def family(self) -> str:
        """The name of the kernels whose work costs the same: those of one size of windows."""
        return f"depthwise_conv2d{_SIZES.get(self.microkernel, '')}{self.loop}"


def choose(
    filters: Filters,
    window: Window,
    columns: int,
    output_shape: tuple[int, ...],
    isa: Isa,
) -> Scheme | None:
    """The scheme with the fewest instructions; None if no microkernel can take the weights.

    Args:
        filters: one for each channel; weights are [channels, kernel height * kernel width].
        columns: of the input.
        output_shape: [N, H, W, C].
    """
    scheme = None
    if window.dilation == (1, 1):
        if window.kernel == (3, 3):
            scheme = _for_3x3(filters, window, columns, output_shape, isa)
        elif window.kernel == (5, 5):
            scheme = _for_5x5(filters, window, output_shape, isa)
    return scheme or _for_any(filters, window, columns, output_shape, isa)


def choose_short(
    filters: Filters16, window: Window, columns: int, output_shape: tuple[int, ...], isa: Isa
) -> Scheme | None:
    """For int16 images: the loops of int8 with another end; None without such loops.

    Args:
        filters: one for each channel; weights are [channels, kernel height * kernel width].
        columns: of the input.
        output_shape: [N, H, W, C].
    """
    if not filters.is_short or window.kernel != (3, 3) or window.dilation != (1, 1):
        return None
    if FOR_3X3_SHORT.provider(isa) is Isa.SCALAR:
        return _by_pixels_short(filters, window)
    if window.stride[1] not in (1, 2):
        return None
    if isa is Isa.MVE:
        return _short_3x3_mve(filters, window, columns, output_shape)
    return None if output_shape[2] == 1 else _short_3x3_dsp(filters, window.stride, output_shape)


def _for_any(
    filters: Filters, window: Window, columns: int, output_shape: tuple[int, ...], isa: Isa
) -> Scheme | None:
    """Needs a pointer per tap and a pixel of padding."""
    channels, area = len(filters.bias), window.area
    if ANY.provider(isa) is not Isa.MVE:
        is_dsp = ANY.provider(isa) is Isa.DSP
        return _by_pixels(pack_fours(filters) if is_dsp else _by_channel(filters), filters, window)
    scheme = _by_rows(filters, window, columns, output_shape)
    if scheme is not None or not has_fitting_pairs(filters):
        return scheme
    workspace = 8 * -(-area // 2) + 16 * -(-channels // 16)
    return Scheme(_lanes_name(filters), ANY, _by_lane(filters), 1, 1, workspace)


def _by_pixels(weights: bytes, filters: Filters, window: Window) -> Scheme:
    """One pixel at a time."""
    pointers = 8 * -(-window.area // 4) * 4  # pointers of 64 bits
    space = len(filters.bias)
    return Scheme("depthwise_conv2d", ANY, weights, 1, 1, pointers + space)


def _by_pixels_short(filters: Filters16, window: Window) -> Scheme:
    """One pixel at a time of int16 images, for kernels of 3x3."""
    pointers = 8 * -(-window.area // 4) * 4  # pointers of 64 bits
    workspace = pointers + 2 * len(filters.bias)
    weights = filters.by_channel
    return Scheme("depthwise_conv2d_3x3_s16", FOR_3X3_SHORT, weights, 1, 1, workspace)


def _by_rows(
    filters: Filters,
    window: Window,
    columns: int,
    output_shape: tuple[int, ...],
) -> Scheme | None:
    """With MVE, outputs of neighbouring pixels in the lanes.

    Needs a pointer per tap, and space for the rows that hang over the image.
    """
    channels, area, width = len(filters.bias), window.area, output_shape[2]
    period = math.lcm(channels, 16)
    block = 16 * (12 + area + area % 2 + 1)
    is_small = channels <= MOST_ROW_CHANNELS and period // 16 * block <= MOST_ROW_WEIGHTS
    if window.stride[1] != 1 or width == 1 or not is_small or not has_fitting_pairs(filters):
        return None
    hangs = (window.inside(1, columns, width)[1] < window.kernel[1]).any()
    rows = 1 + window.kernel[0] * int(hangs)
    held = ROW_SPACE // rows // 16 * 16 // channels
    chunk = min(width, max(2, held + 1 - window.reach[1]))
    space = rows * -(-(chunk - 1 + window.reach[1]) * channels // 16) * 16
    if space > MOST_ROW_SPACE:
        return None
    weights = _by_lane(filters.select(np.arange(period) % channels))
    portions, base = -(-width // chunk), 8 * -(-area // 2) + 16
    return Scheme(_lanes_name(filters), ANY, weights, 1, chunk, space, portions, base=base)


@once
def has_fitting_pairs(filters: Filters) -> bool:
    """Whether the products of two neighbouring taps always add up within 16 bits."""
    lowest = filters.weights == -128
    return not np.any(lowest[:, 0:-1:2] & lowest[:, 1::2])


@once
def _by_channel(filters: Filters) -> bytes:
    """Per channel: bias, multiplier, shift, then its weights tap by tap, filled up to words."""
    channels, area = filters.weights.shape
    weights = np.zeros((channels, -(-area // 4) * 4), np.int8)
    weights[:, :area] = filters.weights
    return np.hstack([bytes_of(filters.head.T), weights.view(np.uint8)]).tobytes()


@once
def _by_lane(filters: Filters) -> bytes:
    """Blocks of 16 channels: biases, multipliers, shifts, the weights tap by tap, the way onwards.

    The channels that are 0, 2, 1 and 3 modulo 4 follow each other, but not in the weights.
    """
    order = np.arange(16).reshape(4, 4).T[[0, 2, 1, 3]].ravel()
    is_divided = _is_divided(filters)
    blocks = []
    for part in filters.blocks(16):
        head, weights = part.head, part.weights.T
        if is_divided:
            head[2] = (1 << 31 + part.shifts.astype(np.int64)) + 1
        blocks.append(head[:, order].tobytes() + weights.tobytes() + bytes(16 * (len(weights) % 2)))
    size = len(blocks[0]) + 16
    steps = np.zeros((len(blocks), 4), "<i4")
    steps[:, 0] = [*[size] * (len(blocks) - 1), size - len(blocks) * size]
    return b"".join(block + step.tobytes() for block, step in zip(blocks, steps, strict=True))


def _lanes_name(filters: Filters) -> str:
    """Name of the kernel with the loops for these shifts."""
    return "depthwise_conv2d_divided" if _is_divided(filters) else "depthwise_conv2d"


@once
def _is_divided(filters: Filters) -> bool:
    """Whether outputs are shifted by a multiplication."""
    return filters.suits_saturation and bool((filters.shifts >= -MOST_DIVIDED).all())


def _for_3x3(
    filters: Filters, window: Window, columns: int, output_shape: tuple[int, ...], isa: Isa
) -> Scheme | None:
    stride, version = window.stride, FOR_3X3.provider(isa)
    if stride[1] not in (1, 2):
        return None
    band = 2 if stride == (1, 1) and output_shape[1] > 1 else 1
    if version is Isa.DSP and filters.suits_factors and output_shape[2] > 1:
        return _for_3x3_dsp(filters, stride, output_shape)
    if version is Isa.MVE and not filters.is_general(isa):
        return _for_3x3_mve(filters, window, columns, output_shape, band)
    return None


def _for_3x3_dsp(
    filters: Filters, stride: tuple[int, int], output_shape: tuple[int, ...]
) -> Scheme:
    name = _3x3_name(filters, stride[1], Isa.DSP)
    if stride[1] == 2:
        return _dsp_rows(name, pack_3x3_apart(filters), output_shape)
    return _dsp_bands(name, FOR_3X3, pack_3x3_dsp(filters), stride, output_shape)


def _dsp_rows(name: str, weights: bytes, output_shape: tuple[int, ...]) -> Scheme:
    """Works in single rows, several of a narrow image at once if there is memory."""
    _, height, width, _ = output_shape
    portions, chunk = _portions(width, 2, LEAST_CHUNK // 2)
    bands = min(height, MOST_BANDS) if portions == 1 else 1
    workspace = 16 * (3 * chunk + 2)
    return Scheme(name, FOR_3X3, weights, 1, chunk, workspace, max(portions, bands), bands)


def _short_3x3_dsp(
    filters: Filters16, stride: tuple[int, int], output_shape: tuple[int, ...]
) -> Scheme:
    apart = "_stride_2" if stride[1] == 2 else ""
    rectified = "_rectified" if filters.requantize.range.minimum == 0 else ""
    name = f"depthwise_conv2d_3x3_s16{apart}{rectified}"
    return _dsp_bands(name, FOR_3X3_SHORT, filters.by_columns, stride, output_shape)


def _short_3x3_mve(
    filters: Filters16, window: Window, columns: int, output_shape: tuple[int, ...]
) -> Scheme | None:
    """Works in rounds of four columns: of two rows with stride 1, of one with stride 2.

    Several bands of a narrow image are computed at once if there is memory.
    """
    _, height, width, channels = output_shape
    stride, outputs = window.stride, 4
    if 2 * outputs * channels >= OFFSETS - 1:
        return None
    band = 2 if stride == (1, 1) and height > 1 else 1
    pitch = -(-_pitch_columns(window, columns, width) // stride[1])
    if pitch * stride[1] <= LEAST_CHUNK:
        most = min(MOST_SHORT_BANDS, MOST_SHORT_ROUNDS * outputs // pitch)
        bands = -(-height // band)
        least = min(bands, MOST_SHORT_BANDS, LEAST_CHUNK // (pitch * stride[1]))
        chunk, portions = least * pitch, min(-(-bands // least), most // least)
        bands = min(bands, least * portions)
    else:
        portions, chunk = _portions(width, outputs, LEAST_CHUNK)
        portions, bands = min(portions, MOST_SHORT_ROUNDS * outputs // chunk), 1
    space = 64 * -(-chunk // outputs) * outputs * stride[1]
    name = f"depthwise_conv2d_3x3_s16{'_stride_2' if stride[1] == 2 else ''}"
    weights = filters.by_patches
    return Scheme(name, FOR_3X3_SHORT, weights, band, chunk, space, portions, bands, base=128)


def _dsp_bands(
    name: str,
    microkernel: Microkernel,
    weights: bytes,
    stride: tuple[int, int],
    output_shape: tuple[int, ...],
) -> Scheme:
    """Works in patches of two columns of two rows, if the strides are alike.

    Several bands of a narrow image are computed at once if there is memory.
    """
    _, height, width, _ = output_shape
    portions, chunk = _portions(width, 2, LEAST_CHUNK // stride[1])
    band, bands = 2 if stride[0] == stride[1] and height > 1 else 1, 1
    if portions == 1 and band == 2:
        portions = bands = min(-(-height // band), MOST_BANDS)
    workspace = 16 * (stride[1] + 1) * ((chunk - 1) * stride[1] + 3)
    return Scheme(name, microkernel, weights, band, chunk, workspace, portions, bands)


def _for_3x3_mve(
    filters: Filters, window: Window, columns: int, output_shape: tuple[int, ...], band: int
) -> Scheme | None:
    """Works in rounds of eight outputs: two patches of two columns of two rows, or four patches of
    two columns if a row is alone, or with stride 2 eight of one.

    Of narrow images two bands at once fill more of the rounds, and take no more memory than a
    portion of a wide image. Small ones are computed as a whole if there is memory.
    """
    _, height, width, channels = output_shape
    stride = window.stride[1]
    outputs, patches, least = (8, 8, 6) if stride == 2 else (4, 2, 3) if band == 2 else (8, 4, 5)
    if outputs * channels >= OFFSETS - 1:
        return None
    bands = -(-height // band)
    pitch = _pitch(window, columns, width)
    count = -(-2 * pitch // patches) * patches
    if bands > 1 and 2 * count <= LEAST_CHUNK:
        portions, chunk = 2 if 2 < bands <= 4 else 1, 2 * pitch * (outputs // patches)
        bands = min(bands, 2 * portions)
    elif width >= least:
        portions, chunk = _portions(width, outputs, LEAST_PART // stride)
        portions = min(portions, MOST_ROUNDS * outputs // chunk)
        count, bands = -(-chunk // outputs) * patches, 1
    else:
        return None
    weights = pack_3x3_mve(filters)
    name = _3x3_name(filters, stride, Isa.MVE, alone=band == 1)
    columns = 2 * count
    return Scheme(name, FOR_3X3, weights, band, chunk, 64 * columns, portions, bands, base=128)


def _3x3_name(filters: Filters, stride: int, isa: Isa, alone: bool = False) -> str:
    """Name of the kernel with the loops for this rounding and this many columns.

    Args:
        alone: for rows that are computed one at a time.
    """
    apart = "_stride_2" if stride == 2 else "_row" if alone else ""
    rounding = "_half_up" if filters.rounding is Rounding.HALF_UP else ""
    return f"depthwise_conv2d_3x3{apart}{rounding}{filters.clamp_suffix(isa)}"


def _pitch(window: Window, columns: int, width: int) -> int:
    """Patches from one band to the next."""
    patches = width if window.stride[1] == 2 else -(-width // 2)
    return max(patches, -(-_pitch_columns(window, columns, width) // 2))


def _pitch_columns(window: Window, columns: int, width: int) -> int:
    """Columns from one band to the next: the padding behind one is that before the next."""
    covered = (width - 1) * window.stride[1] + 3
    before = min(window.padding[1], covered)
    after = covered - before - min(columns, covered - before)
    return covered - min(before, after)


def _portions(width: int, outputs: int, least: int) -> tuple[int, int]:
    """How many portions a row of outputs has at most, and how many columns each of them has.

    Args:
        outputs: columns that a microkernel computes at once.
        least: columns of a portion, roughly, if there are so many.
    """
    rounds = -(-width // outputs)
    count = -(-rounds // max(1, least // outputs))
    chunk = -(-rounds // count) * outputs
    return -(-width // chunk), min(width, chunk)


def _for_5x5(
    filters: Filters, window: Window, output_shape: tuple[int, ...], isa: Isa
) -> Scheme | None:
    """With MVE, in rounds of eight outputs: four rows of two columns, or two rows of four."""
    _, height, width, channels = output_shape
    if FOR_5X5.provider(isa) is not Isa.MVE or window.stride not in ((1, 1), (2, 2)):
        return None
    if filters.is_general(isa):
        return None
    stride = window.stride[0]
    rows, outputs = (4, 2) if stride == 1 else (2, 4)
    most = (WORKSPACE // 128 - 6) // stride // outputs * outputs
    chunk = -(-width // -(-width // most))
    least = width - (width - 1) // chunk * chunk
    if least < outputs or ((rows - 1) * width + outputs) * channels >= OFFSETS:
        return None
    workspace = 128 * ((chunk - 1) * stride + 6)  # a column more is read, though not used
    weights = pack_5x5_mve(filters)
    name = f"depthwise_conv2d_5x5{filters.clamp_suffix(isa)}"
    return Scheme(name, FOR_5X5, weights, min(rows, height), chunk, workspace)
