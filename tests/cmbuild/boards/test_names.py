"""Boards are data: no code but their own folder's names one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from cmbuild import paths

ROOT = Path(__file__).parents[3]

# `native` is also the launcher that its board uses.
NAMES = {folder.parent.name for folder in paths.boards().glob("*/board.toml")} - {"native"}
NAMED = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, sorted(NAMES)))})(?![\w-])")

# Commands show boards as examples.
PYTHON = [path for path in (ROOT / "cmbuild").rglob("*.py") if "cli" not in path.parts]
RUNTIME = [p for p in paths.runtime().rglob("*") if p.suffix in (".c", ".h", ".cmake", ".S", ".j2")]
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|^\s*#[^\n]*$", re.DOTALL | re.MULTILINE)


def strings(node: ast.AST) -> Iterator[str]:
    """What code computes with: neither docstrings nor what hints and help texts show."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        if isinstance(child, ast.keyword) and child.arg in ("hint", "help"):
            continue
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value
        yield from strings(child)


def test_no_module_names_a_board() -> None:
    texts = {path: list(strings(ast.parse(path.read_text()))) for path in PYTHON}
    assert not {
        path: actual for path in PYTHON if (actual := list(filter(NAMED.search, texts[path])))
    }


def test_no_source_of_the_runtime_names_a_board() -> None:
    assert RUNTIME
    assert not [p for p in RUNTIME if NAMED.search(COMMENT.sub("", p.read_text()))]
