"""Where things are and what they are called: few modules at the top, one meaning a name."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest
from harness.sources import MODULES, PACKAGES, ROOT

LONGEST = 450
MOST_AT_THE_TOP = {"cmbuild": 12, "cmcompiler": 9}
RESERVED = {"run", "build", "fit", "evaluate", "sweep"}
"""Names that functions of the package `cmbuild` will have."""

SAME_IDEA: dict[str, str] = {
    "TensorTable": "the fields of a tensor in a file, of each format",
}
"""Class names that stand more than once for one idea, each with the reason."""

TWO_THINGS: set[str] = set()
"""Class names that mean two things; the list only shrinks."""


def classes() -> dict[str, list[str]]:
    """Modules that define a public class of a name at their top level."""
    collected: dict[str, list[str]] = defaultdict(list)
    for name, path in MODULES.items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                collected[node.name].append(name)
    return collected


def test_a_class_name_means_one_thing():
    shared = {name: modules for name, modules in classes().items() if len(modules) > 1}
    known = SAME_IDEA.keys() | TWO_THINGS
    assert {name: shared[name] for name in sorted(shared.keys() - known)} == {}
    assert sorted(known - shared.keys()) == [], "now used once; take them off the lists"


@pytest.mark.parametrize("package", PACKAGES)
def test_few_modules_at_the_top(package: str):
    top = [path.stem for path in (PACKAGES[package] / package).glob("[!_]*.py")]
    assert top
    assert len(top) <= MOST_AT_THE_TOP[package], top


def test_names_of_functions_to_come_are_free():
    assert [name for name in MODULES if name in {f"cmbuild.{each}" for each in RESERVED}] == []


@pytest.mark.parametrize(
    "package", [name for name, path in MODULES.items() if path.name == "__init__.py"]
)
def test_a_package_says_in_one_sentence_what_it_holds(package: str):
    text = ast.get_docstring(ast.parse(MODULES[package].read_text()))
    assert text is not None
    sentence = " ".join(text.partition("\n\n")[0].split())
    assert re.fullmatch(r"[^.!?]+(?:\.\w+[^.!?]*)*\.", sentence), sentence


def test_modules_are_short():
    folders = {"compiler", "cmbuild", "tests", "runtime", "boards"}
    files = [
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in {".py", ".c", ".h", ".S"} and path.is_file()
    ]
    assert len(files) > 500
    assert {place(path): length for path in files if (length := lines(path)) > LONGEST} == {}


def place(path: Path) -> str:
    return str(path.relative_to(ROOT))


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())
