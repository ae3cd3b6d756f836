"""Depthwise weights of four bits: shared words of flash, unpacked before they are multiplied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from cmcompiler.ir.op import ALIGN
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support import nibbles
from cmcompiler.ops.support.depthwise_schemes import (
    ANY,
    FOR_3X3,
    FOR_3X3_SHORT,
    FOR_5X5,
    LONG,
    Scheme,
)
from cmcompiler.ops.support.requantize import Int8Array
from cmcompiler.ops.support.window import Window

UNPACK = Microkernel("unpack_taps", mve=True)
"""Makes the weights that microkernels read."""

NARROW = Microkernel("depthwise_narrow_s8")
"""Multiplies what is unpacked where ANY has no SIMD."""

_HEAD = 3
"""Words of a channel besides its weights: bias and scale."""

_RAISED = 8
"""Added to weights, so that none of them is negative."""


@dataclass(frozen=True, slots=True)
class TapRows:
    """How a microkernel reads the words of each channel.

    Attributes:
        start: words before those of channels.
        taps: where its weights begin: behind its bias and scale, or before them.
        words: of weights; 0: all besides these.
        is_wide: weights are 16 bits wide, else 8.
    """

    start: int
    taps: int = 0
    words: int = 0
    is_wide: bool = False

    @property
    def lanes(self) -> int:
        """Channels that share words."""
        return 4 if self.is_wide else 2

    def packed(self, layout: bytes, channels: int) -> tuple[bytes, int]:
        """Packs a layout behind a `struct cm_narrow_taps`; also the bytes that it unpacks to."""
        words = np.frombuffer(layout, "<u4")
        start, rows = words[: self.start], words[self.start :].reshape(channels, -1)
        stride = rows.shape[1]
        count = self.words or stride - _HEAD
        blocks = -(-channels // self.lanes)
        rows = rows[np.minimum(np.arange(blocks * self.lanes), channels - 1)]
        taps = np.ascontiguousarray(rows[:, self.taps : self.taps + count])
        element = np.dtype("<i2" if self.is_wide else "<i1")
        raised = (taps.view(element) + element.type(_RAISED)).view("<u4")
        shifts = 4 * np.arange(self.lanes, dtype=np.uint32)[:, np.newaxis]
        pairs = np.bitwise_or.reduce(raised.reshape(blocks, self.lanes, count) << shifts, axis=1)
        head = 0 if self.taps else count
        heads = rows[:, head : head + _HEAD].reshape(blocks, -1)
        size = -(-4 * (self.start + rows.size) // ALIGN) * ALIGN
        sizes = [self.start, blocks, self.taps, head, count, stride, size, int(self.is_wide)]
        parts = np.array(sizes, "<i4"), start, np.hstack([heads, pairs]).astype("<u4")
        return b"".join(part.tobytes() for part in parts), size


_ROWS: Mapping[tuple[Microkernel, Isa], TapRows] = {
    (ANY, Isa.SCALAR): TapRows(0, _HEAD),
    (FOR_3X3, Isa.DSP): TapRows(0, is_wide=True),
    (FOR_3X3, Isa.MVE): TapRows(4),
    (FOR_5X5, Isa.MVE): TapRows(0, words=12),
    (LONG, Isa.MVE): TapRows(0),
    (FOR_3X3_SHORT, Isa.SCALAR): TapRows(4, _HEAD),
    (FOR_3X3_SHORT, Isa.DSP): TapRows(4, is_wide=True),
    (FOR_3X3_SHORT, Isa.MVE): TapRows(8),
}
"""By microkernel and what provides it."""


def _has_pairs(window: Window) -> bool:
    """Whether NARROW makes two outputs at once."""
    return window.kernel == (3, 3) and window.dilation[1] == 1 and window.stride[1] <= 2


def narrowed(scheme: Scheme, weights: Int8Array, window: Window, isa: Isa) -> Scheme:
    """Holds weights of four bits in flash, if they fit and the kernel has a form for them.

    Args:
        weights: [channels, taps].
    """
    rows = _ROWS.get((scheme.microkernel, scheme.microkernel.provider(isa)))
    if rows is None or not nibbles.suits(weights):
        return scheme
    data, unpacked = rows.packed(scheme.weights, len(weights))
    kernel = f"{scheme.kernel.removesuffix('_clamped')}_w4"
    is_narrow = scheme.microkernel is ANY and ANY.provider(isa) is Isa.SCALAR
    loop = "_w4" if is_narrow and _has_pairs(window) else ""
    return replace(scheme, kernel=kernel, weights=data, base=scheme.base + unpacked, loop=loop)
