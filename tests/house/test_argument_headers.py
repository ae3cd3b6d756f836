"""The structs of kernels' arguments in C are those of Python.

`./cmbuildw test tests/house --rewrite` writes them.
"""

from __future__ import annotations

import re

import pytest
from harness.sources import ROOT

from cmcompiler.emit.argument_headers import argument_headers

RUNTIME = ROOT / "runtime"
FOLDER = RUNTIME / "include" / "cmrt" / "args"
PROGRAM = FOLDER.with_name("program.h")
"""Declares what interprets the calls: steps, streams and states."""


def test_headers_are_made_from_the_structs(request: pytest.FixtureRequest) -> None:
    wanted = argument_headers()
    assert "conv2d.h" in wanted
    if request.config.getoption("rewrite"):
        FOLDER.mkdir(exist_ok=True)
        for path in FOLDER.iterdir():
            path.unlink()
        for name, text in wanted.items():
            (FOLDER / name).write_text(text)
    texts = {path.name: path.read_text() for path in FOLDER.iterdir()}
    assert texts == wanted, "./cmbuildw test tests/house --rewrite"


def test_no_argument_struct_is_written_in_c() -> None:
    """Only arguments have references; each struct of them comes from its declaration in Python."""
    files = [*FOLDER.parent.glob("*.h"), *(RUNTIME / "kernels").iterdir()]
    structs = {
        name: file.name
        for file in files
        if file != PROGRAM
        for name, body in re.findall(r"struct (\w+) \{([^}]*)\}", file.read_text())
        if "cm_ref " in body
    }
    assert structs == {}
