"""Structs of kernels' arguments: words of fields, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cmcompiler.ir.layout import INLINE, Int8, Int16, Int32, Place, Settled, Struct
from cmcompiler.ir.words import Byte, Packed, ScratchCount, Short


@dataclass(frozen=True)
class Ends(Struct):
    c_name = "cm_ends"

    low: Int8
    high: Int8
    middle: Int16


@dataclass(frozen=True)
class Whole(Struct):
    c_name = "cm_whole"

    data: Place
    count: Annotated[Settled, "what fits"]
    first: Ends
    rest: Annotated[Ends, INLINE]
    size: Annotated[Int32, "bytes"]
    reason: str = ""
    """The host's alone."""


WHOLE = Whole(Packed(b"x"), ScratchCount(2), Ends(-1, 1, 0), Ends(-9, 9, 300), 7)


def test_words_are_the_fields_in_order() -> None:
    assert WHOLE.words() == [
        ("data", Packed(b"x")),
        ("count", ScratchCount(2)),
        ("first.low", -1),
        ("first.high", 1),
        ("first.middle", 0),
        ("low", -9),
        ("high", 9),
        ("middle", 300),
        ("size", 7),
    ]
    words = dict(WHOLE.words())
    assert isinstance(words["low"], Byte) and isinstance(words["first.middle"], Short)


def test_words_that_planning_has_settled_fill_the_struct() -> None:
    settled = dict(WHOLE.words()) | {"count": 6, "size": 8}
    whole = Whole.of_words(settled.items())
    assert (whole.count, whole.size, whole.rest) == (6, 8, WHOLE.rest)
    assert Whole.of_words(WHOLE.words()) == WHOLE
