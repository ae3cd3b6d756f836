"""The project's own modules, their imports, and import cycles."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {"cmbuild": ROOT, "cmcompiler": ROOT / "compiler"}
"""Import packages and their folders."""

HEAVY = {"torch", "torchvision", "torchao", "executorch", "sklearn", "tosa"}


@dataclass(frozen=True)
class Import:
    """One name of an import statement.

    Attributes:
        at_once: runs when the importer is imported, not in a function.
        for_types: only type checkers follow it.
    """

    importer: str
    imported: str
    at_once: bool
    for_types: bool = False

    def __str__(self) -> str:
        return f"{self.importer} → {self.imported}"


def sources() -> dict[str, Path]:
    """Every module of the project except tests, by name."""
    actual = {"dodo": ROOT / "dodo.py"}
    for package, base in PACKAGES.items():
        for path in sorted((base / package).rglob("*.py")):
            parts = path.relative_to(base).with_suffix("").parts
            actual[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return actual


MODULES = sources()


def imports_of(name: str, path: Path) -> Iterator[Import]:
    def walk(node: ast.AST, at_once: bool, for_types: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(name, alias.name, at_once, for_types)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{path}: imports are absolute here"
                for alias in child.names:
                    whole = f"{child.module}.{alias.name}"
                    imported = whole if whole in MODULES else str(child.module)
                    yield Import(name, imported, at_once, for_types)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                for part in child.body:
                    yield from walk(ast.Module([part], []), at_once, True)
                for part in child.orelse:
                    yield from walk(ast.Module([part], []), at_once, for_types)
            elif not isinstance(child, ast.expr):  # most of all nodes, and none imports
                is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                yield from walk(child, at_once and not is_function, for_types)

    yield from walk(ast.parse(path.read_text()), at_once=True, for_types=False)


IMPORTS = [each for name, path in MODULES.items() for each in imports_of(name, path)]
RUNNING = [each for each in IMPORTS if not each.for_types]
"""Imports that are executed."""


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def is_heavy(name: str) -> bool:
    """Whether a module belongs to the extra `export`."""
    return name.partition(".")[0] in HEAVY


def torch_users() -> set[str]:
    """Modules that import torch, directly or not, when imported."""
    return {each.importer for each in RUNNING if each.at_once and is_heavy(each.imported)}


def circles(imports: Collection[Import]) -> list[frozenset[str]]:
    """Groups of modules that import each other, directly or not."""
    edges: dict[str, set[str]] = {name: set() for name in MODULES}
    for each in imports:
        if each.imported in MODULES and each.imported != each.importer:
            edges[each.importer].add(each.imported)
    collected = []
    while (circle := _some_circle(edges)) is not None:
        group = frozenset(
            name
            for name in edges
            if circle in _reach(edges, name) and name in _reach(edges, circle)
        )
        collected.append(group)
        for name in group:
            edges[name] -= group
    return collected


def _some_circle(edges: Mapping[str, set[str]]) -> str | None:
    """A module in a cycle."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        name: str = error.args[1][0]
        return name
    return None


def _reach(edges: Mapping[str, set[str]], start: str) -> set[str]:
    """Modules reachable from one through at least one import."""
    collected: set[str] = set()
    ahead = [*edges[start]]
    while ahead:
        name = ahead.pop()
        if name not in collected:
            collected.add(name)
            ahead += edges[name]
    return collected
