"""The boards of cmbuild, from their descriptors."""

from __future__ import annotations

from pathlib import Path

from cmbuild.catalog import read_board
from cmbuild.launchers.registry import launchers_of
from cmbuild.text import size
from pages.tables import table

ROOT = Path(__file__).parents[3]


def page() -> str:
    parts = ["# Boards\n", "[Boards](../boards.md) explains how to add your own.\n"]
    for file in sorted((ROOT / "boards").glob("*/board.toml")):
        board = read_board(file.parent)
        isas = ", ".join(isa.label for isa in board.isas)
        runs = " or ".join(each.title for each in launchers_of(board)) or "no simulator"
        parts.append(f"## {board.name}\n\n{board.title}: {board.cpu}, {isas}; runs on {runs}.\n")
        rows = [
            [name, region.kind.value, f"`{region.origin:#010x}`", size(region.size)]
            for name, region in board.regions.items()
        ]
        if rows:
            parts.append(table(["memory", "kind", "origin", "size"], rows))
    return "\n".join(parts)
