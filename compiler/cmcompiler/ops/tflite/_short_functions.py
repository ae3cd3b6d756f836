"""Functions of one int16 number by the table that TensorFlow Lite makes of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from cmcompiler.decode.call import Call
from cmcompiler.ops.short_table import ENTRIES, ShortTable
from cmcompiler.ops.support.requantize16 import INT16
from cmcompiler.ops.tflite._scales import FAR, Scale, read_scale, rounded

Singles = npt.NDArray[np.float32]


def emit_short_real(call: Call, function: Callable[[float], float]) -> None:
    source, output = call.tensor("input", dtype=np.int16), call.output("out", dtype=np.int16)
    if source.shape != output.shape:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    entries = _entries(function, read_scale(call, "input"), read_scale(call, "out"))
    name = call.operator.partition("::")[2].lower()
    op = ShortTable(tuple(entries.tolist()), name)
    call.emit(op, [source.tensor], [output.tensor])


def _entries(
    function: Callable[[float], float], source: Scale, result: Scale
) -> npt.NDArray[np.int64]:
    """Results of every 128th number, each off by half of what a chord lacks in its middle.

    So that errors within a step cancel out; the last entry is that of the largest number.
    """
    ends = [np.float32(source.single * limit) for limit in (INT16.minimum, INT16.maximum)]
    step = (ends[1] - ends[0]) / np.float32(ENTRIES - 1)
    span = np.float32(result.single * INT16.maximum) - np.float32(result.single * INT16.minimum)
    with np.errstate(all="ignore"):
        steps = np.float32(65536) / span
    places = np.arange(ENTRIES, dtype=np.float32)
    left = np.float32(ends[0]) + places * step

    def stored(reals: Singles) -> Singles:
        values = np.array([function(float(each)) for each in reals], np.float32)
        least = np.float32(result.single * INT16.minimum)
        values = np.where(np.isneginf(values), least, values)
        with np.errstate(all="ignore"):
            return np.minimum(np.nan_to_num(values * steps), FAR).astype(np.float32)

    own = _rounded(stored(left))
    following = stored(np.float32(ends[0]) + (places + 1) * step)
    middle = _rounded(stored(left + step / np.float32(2)))
    lacks = _rounded((following + own) / np.float32(2)) - middle
    entries = own - _rounded(lacks / np.float32(2))
    entries[-1] = _rounded(stored(np.array([ends[1]])))[0]
    return np.clip(entries, INT16.minimum, INT16.maximum).astype(np.int64)


def _rounded(x: Singles) -> Singles:
    return rounded(x).astype(np.float32)
