"""Options of the functions have the types of what they become."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from harness.typed_options import typed_options

from cmbuild.api import options as module

FILE = Path(module.__file__)

CALLS = """\
import cmbuild

cmbuild.run("mv2", "corstone300", samples=20, io="int8", weights="kws.pt", inputs=["a.npy"])
cmbuild.run("mv2", "corstone300", samples="all")
cmbuild.build("mv2", "corstone300", isa=None)
cmbuild.package("mv2", form="arduino", board="pico")
cmbuild.evaluate("mv2", "corstone300", min_snr=20.0, resume=True)
"""
WRONG = """\
import cmbuild

cmbuild.run("mv2", "corstone300", sample=20)
cmbuild.run("mv2", "corstone300", io="int9")
cmbuild.build("mv2", "corstone300", samples=20)
"""


def test_types_are_those_of_the_requests(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("rewrite"):
        FILE.write_text(typed_options())
    assert FILE.read_text() == typed_options(), "./cmbuildw test tests/cmbuild/api --rewrite"


@pytest.mark.long
def test_a_type_checker_knows_them(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(CALLS)
    (tmp_path / "wrong.py").write_text(WRONG)
    said = subprocess.run(
        [sys.executable, "-m", "mypy", "right.py", "wrong.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    places = [line.split(":")[:2] for line in said.splitlines() if ": error:" in line]
    assert places == [["wrong.py", "3"], ["wrong.py", "4"], ["wrong.py", "5"]], said
