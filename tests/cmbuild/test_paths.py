"""Where data lies, and where cmbuild writes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cmbuild import paths

ROOT = Path(__file__).parents[2]


def test_a_checkout_is_its_own_data():
    assert paths.data() == ROOT
    assert paths.runtime() == ROOT / "runtime"
    assert (paths.boards() / "corstone300/board.toml").is_file()


def test_an_installed_package_has_its_data_inside(tmp_path: Path):
    package = tmp_path / "cmbuild"
    package.mkdir()
    for name in ("__init__.py", "paths.py"):
        shutil.copy(ROOT / "cmbuild" / name, package)
    (tmp_path / "cmcompiler").mkdir()
    for name in ("__init__.py", "installation.py"):
        shutil.copy(ROOT / "compiler" / "cmcompiler" / name, tmp_path / "cmcompiler")
    script = (
        "from cmbuild.paths import *;print(data(), runtime(), with_documents('see docs/boards.md'))"
    )
    command = [sys.executable, "-S", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    data = package / "data"
    assert done.stdout.split() == [
        *(str(data), str(data / "runtime")),
        *("see", str(data / "docs" / "boards.md")),
    ]


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"CMBUILD_CACHE": "/c", "XDG_CACHE_HOME": "/x"}, Path("/c")),
        ({"XDG_CACHE_HOME": "/x"}, Path("/x/cmbuild")),
        ({"XDG_CACHE_HOME": "relative"}, Path.home() / ".cache/cmbuild"),
        ({"CMBUILD_CACHE": "", "XDG_CACHE_HOME": ""}, Path.home() / ".cache/cmbuild"),
        ({"CMBUILD_CACHE": "here"}, Path.cwd() / "here"),
    ],
)
def test_the_cache_is_the_users(environ: dict[str, str], folder: Path):
    assert paths.cache(environ) == folder
