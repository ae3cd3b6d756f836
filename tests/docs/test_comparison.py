"""docs/comparison.svg shows the recorded figures, and they say what README.md says."""

from __future__ import annotations

import json
import subprocess
import sys
from math import prod
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
RECORD = json.loads((ROOT / "benchmarks" / "comparison.json").read_text())
PICTURE = ROOT / "docs" / "comparison.svg"


def test_the_picture_is_drawn_from_the_record(tmp_path: Path) -> None:
    script = "import comparison, sys; sys.stdout.write(comparison.picture(comparison.recorded()))"
    command = [sys.executable, "-c", script]
    drawn = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, check=True)
    assert drawn.stdout.decode() == PICTURE.read_text(), "python benchmarks/comparison.py"
    ElementTree.fromstring(PICTURE.read_text())


@pytest.mark.parametrize(
    ("figure", "most"), [("instructions", 0.35), ("cycles", 0.35), ("ram", 0.25), ("code", 0.4)]
)
def test_the_readme_claims_no_more(figure: str, most: float) -> None:
    """A third of the instructions, a quarter of the RAM, two fifths of the code."""
    rows = {(row["engine"], row["model"]): row[figure] for row in RECORD["rows"]}
    models = sorted({model for _, model in rows})
    ratios = [rows["cmbuild", each] / rows["TensorFlow Lite Micro", each] for each in models]
    assert len(ratios) == 4
    assert prod(ratios) ** (1 / len(ratios)) <= most


def test_each_figure_has_a_source() -> None:
    engines = {row["engine"] for row in RECORD["rows"]}
    assert engines < RECORD["about"].keys()
