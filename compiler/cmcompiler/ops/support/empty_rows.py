"""Rows of which a mask excludes every element."""

from __future__ import annotations

from enum import IntEnum


class EmptyRows(IntEnum):
    """The elements that attention gives to such a row.

    ZERO: nothing, as after a mask of minus infinity.
    EQUAL: the same to each, as after a number far below all others has taken their place.
    UNMASKED: what it gives without the mask, as after the same number was added to each.
    """

    ZERO = 0
    EQUAL = 1
    UNMASKED = 2
