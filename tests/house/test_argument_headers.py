"""The structs of kernels' arguments in C are those of Python.

`./cmbuildw test tests/house --rewrite` writes them.
"""

from __future__ import annotations

import pytest
from harness.sources import ROOT

from cmcompiler.emit.argument_headers import argument_headers

FOLDER = ROOT / "runtime" / "include" / "cmrt" / "args"


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
