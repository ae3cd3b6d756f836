"""Packages that several tests build into firmware."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from harness.commands import NETWORK, PROGRAMS, Commands

Packages = Callable[[str], list[Path]]

MODELS = {"kws": NETWORK, "gestures": PROGRAMS / "states.pte"}
"""The second one keeps state."""


@pytest.fixture
def cmbuild(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Commands:
    return Commands.in_folder_of(tmp_path, tmp_path_factory)


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    """Makes packages of MODELS for a core, once; their folders."""

    @cache
    def make(target: str) -> list[Path]:
        root = tmp_path_factory.mktemp(target)
        cmbuild = Commands.in_folder_of(root, tmp_path_factory)
        for name, program in MODELS.items():
            words = ("--as", "source", "--target", target, "-n", "3", "--name", name)
            made = cmbuild("package", program, *words, "-o", root / name)
            assert made.exit_code == 0, made.stderr
        return [root / name for name in MODELS]

    return make
