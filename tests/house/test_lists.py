"""Lists in documents and help are those of the registries.

`./cmbuildw test tests/house --rewrite` writes the generated ones.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from harness.lists import DOCUMENTS, GENERATORS, blocks, generated
from harness.sources import ROOT

from cmbuild.errors import ExitCode


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_generated_lists_are_up_to_date(document: Path, request: pytest.FixtureRequest):
    wanted = generated(document)
    if request.config.getoption("rewrite"):
        document.write_text(wanted)
    assert document.read_text() == wanted, "./cmbuildw test tests/house --rewrite"


def test_every_list_is_in_a_document():
    assert sorted(name for document in DOCUMENTS for name in blocks(document)) == sorted(GENERATORS)


def first_column(document: str, header: str) -> list[str]:
    """Words in code of the first cells of the table below a header."""
    text = (ROOT / "docs" / document).read_text()
    (table,) = re.findall(rf"^\| {re.escape(header)} \|.*\n\| ---.*\n((?:\|.*\n)+)", text, re.M)
    cells = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()]
    return [word for cell in cells for word in re.findall(r"`([^`]+)`", cell) or [cell]]


def test_exit_codes():
    assert first_column("tasks.md", "status") == [str(int(code)) for code in ExitCode]
