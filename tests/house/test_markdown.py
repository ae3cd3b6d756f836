"""Markdown wraps at 100 columns; `./cmbuildw test tests/house --rewrite` wraps it."""

from __future__ import annotations

import pytest
from harness.markdown import documents, wrapped
from harness.sources import ROOT


@pytest.mark.parametrize("document", documents())
def test_paragraphs_wrap_at_100(document: str, request: pytest.FixtureRequest):
    path = ROOT / document
    wanted = wrapped(path.read_text())
    if request.config.getoption("rewrite"):
        path.write_text(wanted)
    assert path.read_text() == wanted, "./cmbuildw test tests/house --rewrite"


def test_wrapping_keeps_what_is_not_a_paragraph():
    text = (
        "# A heading longer than a line of a hundred columns, which stays on its line, whatever it "
        "takes\n\n| a | table |\n| --- | --- |\n\n```\ncode   as it is\n```\n\n"
    )
    assert wrapped(text + "- item\n- item two") == text + "- item\n- item two\n"


def test_a_wrapped_line_begins_no_list():
    wide = "x" * 99
    assert wrapped(f"{wide} - y\n") == f"{wide} -\ny\n"
    assert wrapped("word " * 30) == " ".join(["word"] * 20) + "\n" + " ".join(["word"] * 10) + "\n"
