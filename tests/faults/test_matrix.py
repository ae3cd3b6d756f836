"""Every fault in every stage of a run: it is told in a line, and the next run is right."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from harness.commands import NETWORK, Commands
from harness.faults import CELLS, FAULTS, STAGES, Cell, document

from cmbuild.cache.store import STAMP

ROOT = Path(__file__).parents[2]
BOARD = "microbit"

NET = """
import torch

def make():
    torch.manual_seed(0)
    return torch.nn.Linear(8, 3), torch.randn(1, 8), [torch.randn(1, 8) for _ in range(4)]
"""

SCRIPT = """
import errno, os, signal, sys
from cmbuild.cli import main
from cmbuild.pipeline import pipeline
from cmbuild.pipeline.stages.stage import Stage
from cmbuild.process import Processes

fault, stage, inside = sys.argv.pop(1), sys.argv.pop(1), []
start = Processes._start

def lose(self, *words, **options):
    process = start(self, *words, **options)
    if inside and fault == "lost child":
        os.killpg(process.pid, signal.SIGKILL)
    return process

def make(self, folder, whole):
    inside.append(stage)
    whole(self, folder)
    inside.clear()
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    codes = {"full disk": errno.ENOSPC, "read-only disk": errno.EROFS}
    if fault in codes:
        raise OSError(codes[fault], os.strerror(codes[fault]), str(folder / "result"))

def below(kind):
    return {kind}.union(*map(below, kind.__subclasses__()))

Processes._start = lose
for kind in below(Stage):
    named = getattr(kind, "kind", None)
    if named is not None and named.label == stage and "make" in vars(kind):
        whole = vars(kind)["make"]
        kind.make = lambda self, folder, whole=whole: make(self, folder, whole)
sys.exit(main())
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the board's library."""
    folder = tmp_path_factory.mktemp("warm")
    warm = Commands(folder, folder / "cache")
    assert warm("build", NETWORK, "--board", BOARD).exit_code == 0
    return warm.cache


@pytest.fixture
def own(request: pytest.FixtureRequest, library: Path, tmp_path: Path) -> Commands:
    """cmbuild with a cache that no other test uses, in a folder with a model."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "net.py").write_text(NET)
    if "libs" not in request.node.name:
        shutil.copytree(library, tmp_path / "cache")
    return Commands(folder, tmp_path / "cache")


def words(stage: str) -> tuple[str | Path, ...]:
    return ("run", "net.py:make" if stage == "export" else NETWORK, "--board", BOARD)


def output(own: Commands, stage: str) -> np.ndarray:
    model = "net-make" if stage == "export" else "network"
    return np.load(own.folder / "build" / model / BOARD / "simulate" / "output_0.npy")


def entry(own: Commands, stage: str) -> Path:
    """The folder of a stage's result."""
    shared = {"export": "exports", "libs": "libraries", "reference": "references"}
    if stage in shared:
        return next(p.parent for p in (own.cache / shared[stage]).glob(f"*/{STAMP}"))
    return own.folder / "build" / "network" / BOARD / stage


def injected(own: Commands, cell: Cell) -> tuple[int, str]:
    """How a run ends in which a stage meets a fault: its exit code, and standard error."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, cell.fault, cell.stage, *map(str, words(cell.stage)), "-j1"],
        cwd=own.folder,
        env=own.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


DAILY = {
    ("kill", "runner"),
    ("kill", "simulate"),
    ("full disk", "plan"),
    ("read-only disk", "reference"),
    ("lost child", "libs"),
}
"""Each fault and each stage once; stages meet a fault in code that all of them share."""


def in_marks(cell: Cell) -> object:
    marks = [pytest.mark.long] if (cell.fault, cell.stage) not in DAILY else []
    return pytest.param(cell, marks=marks, id=f"{cell.fault}-{cell.stage}".replace(" ", "-"))


@pytest.mark.parametrize("cell", [in_marks(c) for c in CELLS if c.exit_code is not None])
def test_a_stage_that_meets_a_fault(own: Commands, cell: Cell) -> None:
    status, said = injected(own, cell)
    assert status == cell.exit_code, said
    assert "Traceback" not in said
    if status > 0:
        assert said.startswith("error: ")
        assert cell.message in said
    again = own(*words(cell.stage))
    assert again.exit_code == 0, again.stderr
    first = output(own, cell.stage)
    assert own(*words(cell.stage), "--json").done == {"simulate"}
    assert np.array_equal(output(own, cell.stage), first)


SLOW = ("export", "libs")
"""Made again in many seconds."""
STORED = [stage for stage in STAGES if stage != "simulate"]


def stored() -> list[object]:
    return [pytest.param(s, marks=[pytest.mark.long] * (s in SLOW)) for s in STORED]


@pytest.mark.parametrize("stage", stored())
def test_bit_rot(own: Commands, stage: str) -> None:
    assert own(*words(stage)).exit_code == 0
    right = output(own, stage)
    for file in filter(Path.is_file, entry(own, stage).glob("*")):
        data = bytearray(file.read_bytes())
        if data:
            data[len(data) // 2] ^= 0x10
            file.write_bytes(data)
    assert own(*words(stage)).exit_code == 0
    assert np.array_equal(output(own, stage), right)


@pytest.mark.parametrize("stage", stored())
@pytest.mark.parametrize("moment", [0, pytest.param(4_102_444_800, marks=pytest.mark.long)])
def test_a_clock_that_is_wrong(own: Commands, stage: str, moment: int) -> None:
    """Times decide nothing, so a result is neither lost nor believed by them."""
    assert own(*words(stage)).exit_code == 0
    for path in entry(own, stage).rglob("*"):
        os.utime(path, (moment, moment))
    assert own(*words(stage), "--json").done == {"simulate"}


def test_garbage_from_a_simulator(own: Commands, tmp_path: Path) -> None:
    assert own(*words("simulate")).exit_code == 0
    qemu = tmp_path / "bin" / "qemu-system-arm"
    qemu.parent.mkdir()
    qemu.write_text("#!/bin/sh\nhead -c 65536 /dev/urandom\necho; echo cmrt end 0\n")
    qemu.chmod(0o755)
    path = f"{qemu.parent}:{own.variables['PATH']}"
    result = replace(own, environment={"PATH": path})(*words("simulate"))
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert own(*words("simulate")).exit_code == 0


def test_every_cell_is_a_test_or_a_reason() -> None:
    cells = {(cell.fault, cell.stage) for cell in CELLS}
    assert cells == {(fault, stage) for fault in FAULTS for stage in STAGES}


def test_the_matrix_is_documented() -> None:
    assert document() in (ROOT / "docs" / "development.md").read_text()
