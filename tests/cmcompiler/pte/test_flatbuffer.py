"""Reading of FlatBuffers: what flatbuffers itself writes, and nothing outside of the bytes."""

from __future__ import annotations

import flatbuffers
import pytest

from cmcompiler.errors import InvalidProgram
from cmcompiler.pte.flatbuffer import FlatBuffer


def written() -> bytes:
    """A table with a number, a text and a vector; its slot 3 is absent."""
    builder = flatbuffers.Builder(0)
    text = builder.CreateString("späte")
    builder.StartVector(8, 3, 8)
    for number in (3, -2, 1):
        builder.PrependInt64(number)
    numbers = builder.EndVector()
    builder.StartObject(5)
    builder.PrependInt32Slot(0, -7, 0)
    builder.PrependUOffsetTRelativeSlot(1, text, 0)
    builder.PrependUOffsetTRelativeSlot(2, numbers, 0)
    builder.PrependBoolSlot(4, True, False)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


def test_fields_are_what_was_written() -> None:
    table = FlatBuffer(memoryview(written())).root
    assert (table.int32(0), table.string(1), table.boolean(4)) == (-7, "späte", True)
    assert table.int64s(2) == (1, -2, 3)
    assert (table.int32(3, default=5), table.string(3), table.int64s(3)) == (5, "", ())
    assert table.int32(99, default=6) == 6
    assert table.table(3) is None


def test_every_cut_is_refused_or_read() -> None:
    data = written()
    for end in range(len(data)):
        try:
            table = FlatBuffer(memoryview(data[:end])).root
            table.int64s(2)
            table.string(1)
        except InvalidProgram as error:
            assert "truncated or corrupt" in error.message or "bad table" in error.message


def test_vectors_that_share_bytes_are_read_so_often_and_no_more() -> None:
    table = FlatBuffer(memoryview(written())).root
    with pytest.raises(InvalidProgram, match="its vectors overlap"):
        for _ in range(1000):
            table.int64s(2)
