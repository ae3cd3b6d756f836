"""docs/correctness.md names a test for each difference, and each of these tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "correctness.md").read_text()


def test_every_difference_has_its_test() -> None:
    rows = re.findall(r"^\| (?!operator|---)(.+) \|$", TEXT, re.MULTILINE)
    named = [re.findall(r"`(test_\w+)`$", row) for row in rows]
    assert len(rows) >= 12
    assert all(named), [row for row, tests in zip(rows, named, strict=True) if not tests]
    (path,) = set(re.findall(r"\((\.\./tests/[^)]+)\)", TEXT))
    tree = ast.parse((ROOT / "docs" / path).read_text())
    there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {name for (name,) in named} == {name for name in there if name.startswith("test_")}
