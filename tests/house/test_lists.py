"""Lists in documents and help are those of the registries.

`./cmbuildw test tests/house --rewrite` writes the generated ones.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from harness.lists import DOCUMENTS, GENERATORS, blocks, generated
from harness.sources import ROOT

from cmbuild import discovery
from cmbuild.errors import ExitCode
from cmbuild.hardware import methods
from cmbuild.launchers import simulators
from cmbuild.toolchain.toolchains import CROSS


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


def test_toolchains():
    assert first_column("boards.md", "`--toolchain`") == list(CROSS)


def test_flash_methods():
    assert sorted(first_column("flashing.md", "method")) == sorted(discovery.names(methods))


def test_launchers_of_a_descriptor():
    keys = [key for key in first_column("boards.md", "key") if key.startswith("launchers.")]
    told = {key.removeprefix("launchers.") for key in keys}
    assert told == set(discovery.names(simulators))


def test_boards():
    told = first_column("boards.md", "board")
    whole = {f"mps2{name}" if name.startswith("-") else name for name in told}
    assert whole == {path.parent.name for path in (ROOT / "boards").glob("*/board.toml")}
