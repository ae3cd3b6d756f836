"""Numbers and sizes as people read them."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Sequence

FEW = 20
"""Samples below which a share is not called a percentage."""

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?) ?([KM]?)(?:i?B)?", re.IGNORECASE)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxdict, _SHORT.maxlist, _SHORT.maxstring = 3, 6, 6, 100


def shortened(value: object) -> str:
    """A user's value for a message: like repr, but never long, and never failing."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # it has more digits than Python writes
        return f"a huge {type(value).__name__}"


def cut(text: str, most: int = 300) -> str:
    """A text of users for a message, without its end if it is long."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def count(number: int) -> str:
    """`141.2 M`, `88.1 k`, `640`: three or four significant digits."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return str(number)


def size(number: int) -> str:
    """Bytes in binary units: `1.44 MB`, `27.9 KB`, `612 B`, `8 MB`."""
    for unit, step, digits in (("MB", 1 << 20, 2), ("KB", 1 << 10, 1)):
        if number >= step:
            return f"{number / step:.{digits}f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{number} B"


def parse_size(written: str) -> int | None:
    """Bytes of `256K`, `1.5 MB` or `262144`, in binary units; None for anything else."""
    match = _SIZE.fullmatch(written.strip())
    if match is None:
        return None
    return round(float(match[1]) * _UNITS[(match[2] or "").upper()])


def shape(sizes: Sequence[int]) -> str:
    """`1×3×224×224`, or `scalar`."""
    return "×".join(map(str, sizes)) or "scalar"


def percent(share: float, digits: int = 1) -> str:
    """`97.8 %` of 0.978."""
    return f"{100 * share:.{digits}f} %"


def rate(share: float, samples: int) -> str:
    """`97.8 %`; of few samples `7 of 8`, which say little about others."""
    few = samples < FEW
    return f"{round(share * samples)} of {samples}" if few else percent(share)


def activations(kinds: Iterable[str | None]) -> str:
    """`int8`, `int16` or `int8 and int16`: what those of a program that are quantised are in."""
    return " and ".join(sorted(set(filter(None, kinds)), key=len)) or "int8"


def plural(number: int, noun: str) -> str:
    """`1 sample`, `2 samples`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
