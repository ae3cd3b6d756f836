"""The concepts' figures are those that scripts/figures.py draws."""

from __future__ import annotations

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from harness.sources import ROOT

FOLDER = ROOT / "docs" / "figures"

_SCRIPT = "import figures, json; print(json.dumps({p.name: t for p, t in figures.figures()}))"


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    command = [sys.executable, "-c", _SCRIPT]
    made = subprocess.run(command, cwd=ROOT / "scripts", capture_output=True, check=True)
    return json.loads(made.stdout)


def test_the_files_are_up_to_date(drawn):
    files = {path.name: path.read_text() for path in FOLDER.iterdir()}
    assert files == drawn, "python scripts/figures.py"


def test_words_stay_inside(drawn):
    """By what a letter of the font takes at most on average."""
    for text in drawn.values():
        picture = ElementTree.fromstring(text)
        width = float(picture.get("width"))
        for each in picture.iter("{http://www.w3.org/2000/svg}text"):
            half = len(each.text) * float(each.get("font-size")) * 0.3
            x = float(each.get("x")) + (half if each.get("text-anchor") == "start" else 0)
            assert x - half >= 0 and x + half <= width, each.text
