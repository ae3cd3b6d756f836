"""The launcher with a board's exact memory, where another simulator has too little of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from harness.commands import NETWORK, Commands, shared_cache

from cmbuild import paths
from cmbuild.catalog import find_board
from cmbuild.launchers.base import LauncherMissing
from cmbuild.launchers.registry import launchers_of
from cmbuild.toolchain.tools import pip_command

BOARD = find_board("rp2350")
LAUNCHER = next(launcher for launcher in launchers_of(BOARD) if launcher.name == "unicorn")


@pytest.fixture
def commands(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """In a folder with a board that is the rp2350, but with the last 14 KB of its memory alone."""
    board = tmp_path / "boards" / "small"
    shutil.copytree(paths.boards() / "rp2350", board)
    text = (board / "board.toml").read_text()
    small = 'origin = 0x2007e800\nsize = "14K"'
    changed = text.replace('origin = 0x20000000\nsize = "520K"', small)
    assert changed != text
    (board / "board.toml").write_text(changed)
    return Commands(tmp_path, shared_cache(tmp_path_factory))


def test_what_qemu_has_no_memory_for_runs_in_unicorn(commands: Commands) -> None:
    result = commands("run", NETWORK, "--board", "small", "-n", "2", "--json")
    assert result.exit_code == 0, result.stderr
    document = result.document
    assert (document["launcher"], document["verified"], document["samples"]) == ("unicorn", True, 2)
    assert document["instructions"]["provenance"] == "counted by Unicorn, block by block"
    assert document["cycles"]["milliseconds"] > 0
    assert "Unicorn (qemu lacks memory)" in result.stderr


def test_who_asks_for_qemu_is_told(commands: Commands) -> None:
    result = commands("run", NETWORK, "--board", "small", "--launcher", "qemu")
    assert result.exit_code == 1
    assert "where QEMU musca-b1 has no memory" in result.stderr.splitlines()[0]


def test_a_missing_package_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(LauncherMissing, match="unicorn not found") as error:
        LAUNCHER.find()
    assert error.value.hint == pip_command("unicorn")


FLASH = """
[clock.flash]
clocks = [30_000_000, 168_000_000]
line = 16
prefetch = true
code_cache = "1K"
data_cache = "128"
read_cycles = 0.5
"""


def test_unicorn_counts_what_qemu_counts(commands: Commands, tmp_path: Path) -> None:
    """Op for op, on boards of the same memory: by the cycle counter and by QEMU's timer; where the
    clock stands still, without what reading it takes.
    """
    memory = ("--flash", "0x08000000:1M", "--ram", "0x20000000:128K", "--clock", "168M")
    assert commands("new", "board", "mine", "--cpu", "cortex-m4", *memory).exit_code == 0
    with (tmp_path / "boards" / "mine" / "board.toml").open("a") as descriptor:
        descriptor.write(FLASH)
    counts, cycles, copied = [], [], []
    for words in (("mine", "--launcher", "unicorn"), ("mine",), ("netduinoplus2",)):
        result = commands("run", NETWORK, "--board", *words, "--json")
        assert result.exit_code == 0, result.stderr
        document = result.document
        counts.append([op["instructions"] for op in document["instructions"]["per_op"]])
        cycles.append(document["cycles"])
        copied.append(document["memory"]["ram"]["weights"] > 0)
    assert copied == [True, True, False]
    with_flash = [counted.pop("with_flash") for counted in cycles]
    assert with_flash[2] is None
    assert with_flash[0]["wait_states"] == 1
    assert with_flash[0]["total"] == pytest.approx(with_flash[1]["total"], rel=0.01)
    assert with_flash[0]["total"] > cycles[0]["total"]
    unicorn, standing, timed = counts
    assert unicorn == timed
    assert sum(standing) == pytest.approx(sum(timed), rel=0.01)
    assert all(each["milliseconds"] == pytest.approx(each["total"] / 168e3) for each in cycles[:2])
    # Kernels that read copies lie elsewhere, and the Cortex-M4 fetches some words a cycle later.
    own, others = ([op.pop("cycles") for op in each["per_op"]] for each in (cycles[0], cycles[2]))
    assert own == pytest.approx(others, rel=0.005)
    assert cycles[0]["per_op"] == cycles[2]["per_op"]


def test_a_core_without_a_cycle_counter_is_counted_block_by_block(commands: Commands) -> None:
    memory = ("--flash", "0x10000000:256K", "--ram", "0x20000000:32K", "--clock", "64M")
    assert commands("new", "board", "tiny", "--cpu", "cortex-m0plus", *memory).exit_code == 0
    document = commands("run", NETWORK, "--board", "tiny", "--json").document
    assert (document["launcher"], document["verified"]) == ("unicorn", True)
    assert all(op["instructions"] > 0 for op in document["instructions"]["per_op"])
    assert document["cycles"]["total"] > document["instructions"]["total"]
    assert document["cycles"]["milliseconds"] > 0
