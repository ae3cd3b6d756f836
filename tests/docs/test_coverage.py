"""docs/coverage.md: each of people's models runs in integers and stays close to float."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "tests" / "data" / "models"

KINDS = "kinds.py"

TARGETS = {
    **dict.fromkeys(("gestures.py", "images.py", "mixed.py", "published.py"), 30),
    "sequences.py": 25,
    KINDS: 25,
}
"""SNR in dB, of convolutional networks and of recurrent ones and attention."""


def rows() -> list[dict[str, str]]:
    """Those of all tables: of models, then of kinds of public networks."""
    text = (ROOT / "docs" / "coverage.md").read_text()
    return [row for part in text.split("\n## ") for row in _table(part)]


def _table(text: str) -> Iterator[dict[str, str]]:
    header, _, *lines = re.findall(r"^\| (.+) \|$", text, re.MULTILINE)
    for line in lines:
        yield dict(zip(header.split(" | "), line.split(" | "), strict=True))


def decibels(text: str) -> float:
    return float(text.removesuffix(" dB"))


def test_every_model_has_a_row() -> None:
    wanted = [
        f"{file.name}:{node.name}"
        for file in sorted(MODELS.glob("*.py"), key=lambda file: (file.name == KINDS, file.name))
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and not node.args.args
    ]
    assert [row["model"] for row in rows()] == wanted


def test_models_run_in_integers_and_close_to_float() -> None:
    """As close as 8 bits at the input allow."""
    for row in rows():
        assert float(row["in integers"].removesuffix("%")) >= 99, row
        if decibels(row["input alone"]) >= 30:
            assert decibels(row["SNR"]) >= TARGETS[row["model"].partition(":")[0]], row
