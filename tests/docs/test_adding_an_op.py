"""docs/adding-an-op.md, followed literally: in a copy of the tree, and in a project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from harness.document import Command, File, sections, steps

pytestmark = pytest.mark.timeout(900)
"""Each exports a model, and builds libraries of its own."""

ROOT = Path(__file__).parents[2]
CLANG_FORMAT = str(Path(sysconfig.get_path("scripts")) / "clang-format")
SECTIONS = sections((ROOT / "docs" / "adding-an-op.md").read_text())
IN_CMBUILD = "An op in cmbuild: distances between vectors"
IN_PROJECT = "An op in your project: squared ReLU"


def follow(section: str, folder: Path, environment: Mapping[str, str]) -> Sequence[File | Command]:
    """Follows a section in a folder."""
    done = list(steps(SECTIONS[section]))
    for step in done:
        if isinstance(step, File):
            step.write(folder)
        else:
            ended = subprocess.run(
                [sys.executable, "-m", *step.words],
                cwd=folder,
                env={**os.environ, **environment},
                capture_output=True,
                text=True,
                check=False,
            )
            printed = ended.stdout + ended.stderr
            assert (ended.returncode != 0) == step.fails, printed
            step.check(printed)
    return done


@pytest.mark.long
def test_an_op_in_cmbuild(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    for name in ("boards", "cmbuild", "compiler", "runtime", "tests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, checkout / name, ignore=ignored)
    for name in ("dodo.py", "pyproject.toml", ".clang-format"):
        shutil.copy(ROOT / name, checkout)
    environment = {
        "CMBUILD_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join([str(checkout), str(checkout / "compiler")]),
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
    }
    done = follow(IN_CMBUILD, checkout, environment)
    files = [step for step in done if isinstance(step, File)]
    assert [file.path for file in files] == [
        "net.py",
        "compiler/cmcompiler/ops/pdist_forward.py",
        "runtime/kernels/pdist_forward.c",
        "tests/cmcompiler/ops/test_pdist_forward.py",
    ]
    assert len(done) == len(files) + 4
    check_style(checkout, files)


@pytest.mark.long
def test_an_op_in_a_project(tmp_path: Path) -> None:
    project = tmp_path / "a project"
    project.mkdir()
    done = follow(IN_PROJECT, project, {"CMBUILD_CACHE": str(tmp_path / "cache")})
    files = [step for step in done if isinstance(step, File)]
    assert len(done) == len(files) + 2
    check_style(ROOT, files)


def check_style(root: Path, files: Sequence[File]) -> None:
    """Asserts that files pass the checks of this tree."""
    ruff = [sys.executable, "-m", "ruff"]
    for file in files:
        name = str(root / file.path)
        if name.endswith(".py"):
            given = ("--no-cache", "--stdin-filename", name, "-")
            checks = [[*ruff, "check", *given], [*ruff, "format", "--check", *given]]
        else:
            checks = [[CLANG_FORMAT, "--dry-run", "-Werror", f"--assume-filename={name}"]]
        for check in checks if name.endswith((".py", ".c")) else []:
            ended = subprocess.run(
                check, cwd=root, input=file.text, capture_output=True, text=True, check=False
            )
            assert ended.returncode == 0, ended.stdout + ended.stderr
