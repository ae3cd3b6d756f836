"""Files of a package name none that are not in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.sources import ROOT

from cmbuild.packaging.references import with_own_references

RUNTIME = ROOT / "runtime"
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_FILE = re.compile(
    r"[\w./-]*\b[\w-]+\.(?:py|md|c|h|S|cmake|json|bin|toml|ld|j2|rs|rst|txt)\b"
    r"|\./\w+|\b(?:compiler|cmbuild|cmcompiler|tests|scripts|docs|runtime|boards)/[\w/.-]*"
)


def named(text: str) -> set[str]:
    return {name for comment in _COMMENT.findall(text) for name in _FILE.findall(comment)}


def shipped() -> list[Path]:
    """What packages may get of the runtime."""
    folders = ("include/cmrt", "isa", "kernels", "runner", "vectors")
    return [f for each in folders for f in (RUNTIME / each).rglob("*") if f.suffix in (".c", ".h")]


def test_references_are_recognised() -> None:
    text = "/* See compiler/cmcompiler/ops/add.py, docs/exactness.md and `./cmbuildw test`: a.c */"
    actual = {"compiler/cmcompiler/ops/add.py", "docs/exactness.md", "./cmbuildw", "a.c"}
    assert named(text) == actual


@pytest.mark.parametrize("has_all", [True, False])
def test_no_file_of_the_runtime_names_one_that_is_not_shipped(has_all: bool) -> None:
    """Whether a package has all of its files, or that one alone."""
    files = shipped()
    assert len(files) > 250
    every = {file: f"runtime/kws_cm_{file.parent.name}_{file.name}" for file in files}
    for file in files:
        places = every if has_all else {file: every[file]}
        text = with_own_references(file.read_text("utf-8"), file, places)
        names = {Path(place).name for place in places.values()}
        assert named(text) <= names, file
        code = _COMMENT.sub("", file.read_text("utf-8"))
        assert _COMMENT.sub("", text) == code


def test_a_file_of_the_same_instruction_set_is_meant() -> None:
    places = {Path(f"isa/{isa}/product.h"): f"runtime/{isa}_product.h" for isa in ("dsp", "mve")}
    for isa in ("dsp", "mve"):
        own = with_own_references("/* see product.h */", Path(f"isa/{isa}/x.c"), places)
        assert own == f"/* see {isa}_product.h */"


@pytest.mark.parametrize("target", ["cortex-m55", "cortex-m33"])
def test_packages_name_their_own_files(target: str, packages: Callable[[str], list[Path]]) -> None:
    for package in packages(target):
        own = {file.name for file in package.rglob("*")}
        files = [file for file in package.rglob("*") if file.suffix in (".c", ".h", ".S")]
        assert len(files) > 20
        for file in files:
            names = {Path(name).name for name in named(file.read_text())}
            assert names <= own, file
