"""Lines that can be printed anywhere."""

from __future__ import annotations

import os
from io import TextIOWrapper
from pathlib import Path

import pytest

from cmbuild.errors import CmbuildError
from cmbuild.report.stream import prepare_streams, printable, write


def test_controls_are_replaced_and_the_length_kept() -> None:
    text = "a\x1b[31mb\tc\u202ed\x00"
    shown = printable(text)
    assert len(shown) == len(text)
    assert shown == "a\ufffd[31mb\tc\ufffdd\ufffd"


def test_marks_have_stand_ins_where_they_cannot_be_printed() -> None:
    prepare_streams()
    assert "✓ 2 × 3 … ≥ ä".encode("ascii", "cmbuild.ascii") == b"+ 2 x 3 ... >= ?"


def test_a_reader_that_has_gone_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with TextIOWrapper(open(writer, "wb")) as stream:  # noqa: PTH123
        write("one", stream)
        write("two", stream)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
def test_a_full_disk_is() -> None:
    with Path("/dev/full").open("w") as stream, pytest.raises(CmbuildError):
        write("one", stream)
