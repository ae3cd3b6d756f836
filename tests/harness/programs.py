"""The programs in tests/data/programs; their make.py describes each one."""

from __future__ import annotations

from pathlib import Path

from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph
from cmcompiler.pte.reader import read_program

FOLDER = Path(__file__).parents[1] / "data" / "programs"
NAMES = tuple(sorted(file.stem for file in FOLDER.glob("*.pte")))


def program_bytes(name: str) -> bytes:
    return (FOLDER / f"{name}.pte").read_bytes()


def program_graph(name: str, method: str = "forward", io: str = "program") -> Graph:
    return build_graph(read_program(program_bytes(name)), method, io)
