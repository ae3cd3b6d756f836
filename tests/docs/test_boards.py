"""What docs say of launchers, flash methods and toolchains is all there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cmbuild import discovery
from cmbuild.hardware import methods
from cmbuild.launchers import simulators
from cmbuild.toolchain.toolchains import CROSS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "row", "names"),
    [
        ("boards.md", r"^\| `launchers\.([\w-]+)` \|", discovery.names(simulators)),
        ("flashing.md", r"`flash\.([\w-]+)`(?=[^|]*\|)", discovery.names(methods)),
        ("boards.md", r"^\| `([\w-]+)` \|.*\| `(?:apt-get|pip) install", CROSS),
    ],
)
def test_a_table_has_all(page: str, row: str, names: tuple[str, ...]) -> None:
    found = re.findall(row, (DOCS / page).read_text(), re.MULTILINE)
    assert sorted(set(found)) == sorted(names)
