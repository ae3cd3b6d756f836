"""Runs cmbuild as a user does, in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest

from harness.starter import starter

PROGRAMS = Path(__file__).parents[1] / "data" / "programs"
NETWORK = PROGRAMS / "network.pte"
"""A small network: quantize, a convolution, a pool, a linear layer, dequantize."""


def shared_cache(factory: pytest.TempPathFactory) -> Path:
    """The cache that all commands of a test run share."""
    root = factory.getbasetemp()
    # Each worker of pytest-xdist has its own folder inside the folder of the whole run.
    return (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "cache"


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        collected: dict[str, Any] = json.loads(self.stdout)
        return collected

    @property
    def states(self) -> dict[str, str]:
        """The outcome of each step of the document: cached, done or failed."""
        return {step["name"]: step["state"] for step in self.document["steps"]}

    @property
    def done(self) -> set[str]:
        return {name for name, state in self.states.items() if state == "done"}


@dataclass(frozen=True)
class Commands:
    """Runs commands in a folder, with a cache that tests share.

    Attributes:
        environment: added to this process's own.
    """

    folder: Path
    cache: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def in_folder_of(cls, test: Path, factory: pytest.TempPathFactory) -> Commands:
        """In a test's own folder, with libraries built once for all tests."""
        folder = test / "a folder"
        folder.mkdir()
        return cls(folder, shared_cache(factory))

    def __call__(self, *words: str | Path, program: tuple[str, ...] = ("cmbuild",)) -> Result:
        """Runs a command to its end."""
        is_known = program in (("cmbuild",), ("doit",))
        if not is_known or any(name.startswith("PYTHON") for name in self.environment):
            return self.alone(*words, program=program)
        with TemporaryFile("w+") as output, TemporaryFile("w+") as errors:
            exit_code = starter().run(
                program[0],
                [*map(str, words)],
                folder=self.folder,
                environment=self.variables,
                streams=(output, errors),
            )
            for stream in (output, errors):
                stream.seek(0)
            return Result(exit_code, output.read(), errors.read())

    def alone(self, *words: str | Path, program: tuple[str, ...] = ("cmbuild",)) -> Result:
        """Runs a command in a process that has imported nothing before."""
        done = subprocess.run(
            self.argv(*words, program=program),
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str | Path) -> subprocess.Popen[str]:
        """Starts a command without waiting for it."""
        return subprocess.Popen(
            self.argv(*words),
            cwd=self.folder,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def argv(self, *words: str | Path, program: tuple[str, ...] = ("cmbuild",)) -> list[str]:
        return [sys.executable, "-m", *program, *map(str, words)]

    @property
    def variables(self) -> dict[str, str]:
        return {**os.environ, "CMBUILD_CACHE": str(self.cache), **self.environment}
