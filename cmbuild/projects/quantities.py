"""Numbers of budgets and thresholds as people write them: `64K`, `3.9M`, `93%`, `+1%`."""

from __future__ import annotations

import re

_NUMBER = r"\d{1,15}(?:\.\d{1,15})?"  # more would not be a number of anything here
_BINARY = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}


def parse_bytes(value: object) -> object:
    """`64K` is 65,536 bytes; numbers are unchanged.

    Raises:
        ValueError: the text is not a size, or the number is negative.
    """
    return _scaled(value, _BINARY, r"\s*([KMG]?)B?", 'a size such as 4096, "64K" or "1.5M"')


def parse_count(value: object) -> object:
    """`3.9M` is 3,900,000; numbers are unchanged. Raises ValueError like parse_bytes."""
    return _scaled(value, _DECIMAL, r"\s*([kKMG]?)", 'a number such as 3_900_000 or "3.9M"')


def parse_share(value: object) -> object:
    """`93%` is 0.93; numbers are shares already.

    Raises:
        ValueError: not from 0 to 1, or from 0 % to 100 %.
    """
    share: object = value
    if isinstance(value, str):
        match = re.fullmatch(rf"({_NUMBER})\s*%", value.strip())
        share = float(match[1]) / 100 if match else None
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
        raise ValueError(f'{value!r} is not a share such as "93%" or 0.93')
    return float(share)


def parse_decibels(value: object) -> object:
    """`30 dB` is 30.0; numbers are unchanged. Raises ValueError for anything else."""
    match = re.fullmatch(rf"(-?{_NUMBER})\s*(dB)?", str(value).strip())
    if isinstance(value, bool) or match is None:
        raise ValueError(f'{value!r} is not a level such as 30 or "30 dB"')
    return float(match[1])


def _scaled(value: object, units: dict[str, int], suffix: str, wanted: str) -> int:
    number: object = value
    if isinstance(value, str):
        match = re.fullmatch(f"({_NUMBER}){suffix}", value.strip().replace("_", ""))
        number = round(float(match[1]) * units[match[2]]) if match else None
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise ValueError(f"{value!r} is not {wanted}")
    return number
