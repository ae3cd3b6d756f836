"""How convolutions with several filters for each channel, or small group, are computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cmcompiler.isa import Isa
from cmcompiler.ops.support import depthwise_schemes
from cmcompiler.ops.support.channel_sums import largest_sums
from cmcompiler.ops.support.depthwise_schemes import (
    CHANNELS,
    FOR_3X3,
    GROUPED,
    OFFSETS,
    SHARED,
    Scheme,
    has_fitting_pairs,
)
from cmcompiler.ops.support.filters import Filters
from cmcompiler.ops.support.requantize import CONSTANT_SCALE, Int32Array, Rounding
from cmcompiler.ops.support.weight_orders import gemm_mve, is_shallow
from cmcompiler.ops.support.window import Window

PIXELS = 4
"""Computed at once with MVE."""

SPACE = 1024
"""Bytes for rows that hang over the image with MVE, if that is enough for some pixels."""

MOST_SPACE = 4096
"""More of them are not taken."""

MOST_GROUP = 16
"""Channels of a group; for more, products of patches are as good."""


@dataclass(frozen=True, slots=True)
class TwoFilters:
    """Two filters of a channel, or of a group of channels; the same one twice if it is alone.

    Attributes:
        is_last: of the channel or group.
    """

    filters: Filters
    is_alone: bool
    is_last: bool


def choose(
    filters: Filters,
    window: Window,
    image: Sequence[int],
    output_shape: tuple[int, ...],
    isa: Isa,
) -> Scheme | None:
    """The scheme; None if no microkernel can take the weights or the image.

    Args:
        filters: of each channel side by side.
        image: [N, H, W, C].
        output_shape: [N, H, W, C].
    """
    each = output_shape[3] // image[3]
    if SHARED.provider(isa) is Isa.MVE:
        if window.area == 1:  # seven of eight lanes would be idle
            return None
        copies = _of_copies(filters, window, image, output_shape)
        return copies or _by_eight_taps(filters, window, image, output_shape)
    if SHARED.provider(isa) is Isa.DSP:
        weights = b"".join(_by_pairs_of_taps(pair) for pair in _pairs(filters, each))
    elif has_fitting_pairs(filters):
        weights = b"".join(_by_words(pair) for pair in _pairs(filters, each))
    else:
        return None
    pointers = 8 * (window.area + window.area % 2)  # pointers of 64 bits
    workspace = pointers + image[3]
    return Scheme("depthwise_conv2d_shared", SHARED, weights, 1, 1, workspace)


def parted(filters: Filters, isa: Isa) -> tuple[Filters, npt.NDArray[np.int64]]:
    """The filters with zeros in place of each channel that bars the others from the fast roundings,
    and these channels."""
    requantize, largest = filters.requantize, largest_sums(filters.weights, filters.bias)
    odd = ~requantize.is_ordinary(filters.multipliers, filters.shifts, largest)
    if isa is Isa.DSP:
        odd |= filters.shifts > -2  # as Filters.suits_factors
    weights, bias = filters.weights * ~odd[:, np.newaxis], filters.bias * ~odd
    multipliers = np.where(odd, CONSTANT_SCALE[0], filters.multipliers)
    shifts = np.where(odd, CONSTANT_SCALE[1], filters.shifts)
    ordinary = replace(
        filters,
        weights=weights.astype(np.int8),
        bias=bias.astype(np.int32),
        multipliers=multipliers.astype(np.int32),
        shifts=shifts.astype(np.int32),
        rounding=requantize.rounding(multipliers, shifts, largest_sums(weights, bias)),
        requantize=replace(
            requantize, multipliers=tuple(multipliers.tolist()), shifts=tuple(shifts.tolist())
        ),
    )
    return ordinary, np.flatnonzero(odd)


def of_some_channels(
    filters: Filters,
    channels: npt.NDArray[np.int64],
    window: Window,
    output_shape: tuple[int, ...],
    isa: Isa,
) -> Scheme | None:
    """The scheme for some channels of a layer with one filter each, for any rounding.

    Args:
        output_shape: [N, H, W, C].
    """
    width = output_shape[2]
    pitch = (width - 1) * window.stride[1] + window.reach[1]
    space = window.kernel[0] * pitch
    if space > MOST_SPACE or 8 * output_shape[3] >= OFFSETS:
        return None
    filled = -(-window.area // 8) * 8
    lanes = 8 if CHANNELS.provider(isa) is Isa.MVE else filled
    packed = [
        _by_lanes(TwoFilters(filters.select(np.array([c, c])), True, True), filled, lanes)
        for c in channels
    ]
    weights = _int32([len(channels), *channels]) + b"".join(packed)
    return Scheme("depthwise_conv2d_channels", CHANNELS, weights, 1, width, space, base=2 * filled)


def _of_copies(
    filters: Filters, window: Window, image: Sequence[int], output_shape: tuple[int, ...]
) -> Scheme | None:
    """With MVE, as one filter for each of copies of the channels, if that suits 3x3 windows.

    Needs space for the copies of the rows that some windows cover, and their offsets. Whole rows
    are computed at once if that takes little more.
    """
    plain = depthwise_schemes.choose(filters, window, image[2], output_shape, Isa.MVE)
    if plain is None or plain.microkernel is not FOR_3X3:
        return None
    rows = (plain.band * plain.bands - 1) * window.stride[0] + 3
    space = -(-rows // 4) * 16 + -(-rows * image[2] * output_shape[3] // 16) * 16
    if space > MOST_SPACE:
        return None
    clamp = filters.clamp_suffix(Isa.MVE)
    kernel = plain.kernel.removesuffix(clamp).removesuffix("_half_up")
    if plain.bands == 1 and space + plain.portions * plain.workspace <= MOST_SPACE // 2:
        chunk, workspace = plain.portions * plain.chunk, plain.portions * plain.workspace
        plain = replace(plain, chunk=chunk, workspace=workspace, portions=1)
    return replace(plain, kernel=f"{kernel}_copies{clamp}", base=plain.base + space)


def _by_eight_taps(
    filters: Filters, window: Window, image: Sequence[int], output_shape: tuple[int, ...]
) -> Scheme | None:
    """With MVE, needs the offsets of the taps, and space for rows that hang over the image."""
    _, rows, columns, channels = image
    far = rows * columns * channels + (2 * window.stride[1] + 1) * channels >= OFFSETS
    pairs = _pairs(filters, output_shape[3] // channels)
    return _gathering(pairs, window, image, output_shape, far=far)


def of_groups(
    parts: Sequence[Filters],
    window: Window,
    image: Sequence[int],
    output_shape: tuple[int, ...],
) -> Scheme | None:
    """The scheme of a convolution in groups with MVE; None if products of patches are as good.

    Needs space for a strip of each group, of the columns that some windows cover.

    Args:
        parts: filters of each group; weights are [channels, kernel columns, rows, depth].
        image: [N, H, W, C].
        output_shape: [N, H, W, C].
    """
    depth, width = image[3] // len(parts), output_shape[2]
    is_small = depth % 4 == 0 and depth <= MOST_GROUP
    if len(parts) == 1 or not is_small or window.dilation[1] > 1 or parts[0].is_general(Isa.MVE):
        return None
    if PIXELS * output_shape[3] >= OFFSETS:
        return None
    chunk, space = _held(window, image[3], width, 2 * SPACE)
    if space > MOST_SPACE:
        return None
    weights, next_group, next_block = _blocks_of_groups(parts)
    rounding = "_half_up" if parts[0].rounding is Rounding.HALF_UP else ""
    return Scheme(
        f"depthwise_conv2d_grouped{rounding}{parts[0].clamp_suffix(Isa.MVE)}",
        GROUPED,
        _int32([depth, next_group, next_block]) + weights,
        1,
        chunk,
        space,
        portions=-(-width // chunk),
        base=16,  # may be read after the last window
    )


def _blocks_of_groups(parts: Sequence[Filters]) -> tuple[bytes, int, int]:
    """Packed weights, and the bytes from a block of filters to that of the next group and to the
    next one of its own.

    Blocks of four filters lie side by side for all groups, if there are no others.
    """
    size = 2 if is_shallow(parts[0]) else 4
    weights = [gemm_mve(part) for part in parts]
    count = -(-len(parts[0].bias) // size)
    block = len(weights[0]) // count
    if size == 2 or len(parts[0].bias) % size:
        return b"".join(weights), len(weights[0]), block
    blocks = np.array([np.frombuffer(each, np.int8).reshape(count, block) for each in weights])
    return blocks.swapaxes(0, 1).tobytes(), block, len(parts) * block


def _held(window: Window, channels: int, width: int, space: int = SPACE) -> tuple[int, int]:
    """Output columns that so much space suits, at least, and the bytes that their windows cover."""
    pixel = window.kernel[0] * channels
    held = (space // pixel - window.reach[1]) // window.stride[1] + 1
    chunk = min(width, max(PIXELS, held // PIXELS * PIXELS))
    return chunk, pixel * ((chunk - 1) * window.stride[1] + window.reach[1])


def _gathering(
    pairs: Iterator[TwoFilters],
    window: Window,
    image: Sequence[int],
    output_shape: tuple[int, ...],
    *,
    far: bool,
) -> Scheme | None:
    """With MVE, needs the offsets of the taps, and space for rows that hang over the image.

    Args:
        far: rows may be too far from each other for offsets.
    """
    _, height, width, outputs = output_shape
    _, rows, columns, channels = image
    if PIXELS * outputs >= OFFSETS:
        return None
    chunk, space = width, 0
    if far or window.hangs_over((rows, columns), (height, width)):
        chunk, space = _held(window, channels, width)
        if space > MOST_SPACE:
            return None
    filled = -(-window.area // 8) * 8
    return Scheme(
        "depthwise_conv2d_shared",
        SHARED,
        b"".join(_by_lanes(pair, filled, 8) for pair in pairs),
        1,
        chunk,
        space,
        portions=-(-width // chunk),
        base=2 * filled,
    )


def _pairs(filters: Filters, each: int) -> Iterator[TwoFilters]:
    """The filters of each channel or group, `each` of them, in pairs."""
    for first in range(0, len(filters.bias), each):
        for place in range(0, each, 2):
            last = min(place + 1, each - 1)
            pair = filters.select(np.array([first + place, first + last]))
            yield TwoFilters(pair, last == place, last == each - 1)


def _by_lanes(pair: TwoFilters, filled: int, lanes: int) -> bytes:
    """Of both filters what rescales their sums, then weights of a vector of each in turn.

    Args:
        filled: weights of a filter, whole vectors.
    """
    filters = pair.filters
    right = np.minimum(filters.shifts, 0)
    is_away = (right < 0) & (filters.rounding is not Rounding.HALF_UP)
    left = np.maximum(filters.shifts, 0)
    head = np.stack([filters.bias, left, filters.multipliers, is_away, right], axis=1)
    weights = np.zeros((2, filled), np.int8)
    weights[:, : filters.weights.shape[1]] = filters.weights
    rescaling: bytes = head.astype("<i4").tobytes()
    return rescaling + weights.reshape(2, -1, lanes).swapaxes(0, 1).tobytes()


def _by_words(pair: TwoFilters) -> bytes:
    """Biases; weights of two filters as one word, tap by tap; what rescales the sums."""
    filters = pair.filters
    scales = np.stack([filters.multipliers, filters.shifts], axis=1)
    first, second = _even_taps(filters)
    words = first + (second * (not pair.is_alone) << 16)
    bias = filters.bias.astype(np.int64) - np.array([len(words) // 2 << 15, 0])
    return _int32(bias) + _int32(words) + _rescaling(pair, scales)


def _by_pairs_of_taps(pair: TwoFilters) -> bytes:
    """Biases; two taps of each filter in turn, as int16; what rescales the sums."""
    filters = pair.filters
    taps = _even_taps(filters).reshape(2, -1, 2).swapaxes(0, 1)
    weights: bytes = taps.astype("<i2").tobytes()
    return _int32(filters.bias) + weights + _rescaling(pair, filters.factors)


def _even_taps(filters: Filters) -> npt.NDArray[np.int64]:
    """The weights, with zeros up to an even number of taps."""
    area = filters.weights.shape[1]
    return np.pad(filters.weights.astype(np.int64), ((0, 0), (0, area % 2)))


def _rescaling(pair: TwoFilters, scales: Int32Array) -> bytes:
    """struct cm_rescaling; scales are a multiplier and a shift, or factor, of each filter."""
    return _int32([*scales.T.ravel(), not pair.is_alone, pair.is_last])


def _int32(numbers: npt.ArrayLike) -> bytes:
    """Little-endian, wrapping."""
    return np.asarray(numbers, np.int64).astype("<i4").tobytes()
