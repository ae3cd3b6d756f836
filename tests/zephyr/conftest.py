"""The command line, and packages that it makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from harness.commands import Commands

Packager = Callable[..., Path]


@pytest.fixture(autouse=True)
def paths_of_each_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets ccache know what was compiled in another test's folder: Zephyr names its files whole."""
    monkeypatch.setenv("CCACHE_BASEDIR", "/")


@pytest.fixture
def cmbuild(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Commands:
    return Commands.in_folder_of(tmp_path, tmp_path_factory)


@pytest.fixture
def package(cmbuild: Commands, tmp_path: Path) -> Packager:
    """Makes a package for Zephyr of a model, with options; its folder."""

    def make(model: Path, *options: str | Path) -> Path:
        folder = tmp_path / "package"
        done = cmbuild("package", model, "--as", "zephyr", "-o", folder, *options)
        assert done.exit_code == 0, done.stderr
        return folder

    return make
