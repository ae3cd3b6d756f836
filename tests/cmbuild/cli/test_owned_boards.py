"""Boards that people own: what their folders say agrees with the table of chips, and images run."""

from __future__ import annotations

import pytest
from harness.commands import NETWORK, Commands

from cmbuild.boards.memory import Memory
from cmbuild.catalog import shipped_boards
from cmbuild.chips.table import find_chip
from cmbuild.cycles.clock import ClockTable
from cmbuild.hardware.methods.probe_rs import ProbeRs
from cmbuild.hardware.registry import flashing
from cmbuild.launchers.registry import launchers_of

OWNED = {board.name: board for board in shipped_boards() if flashing(board) is not None}
SAMPLE = ("nucleo-g0b1re", "nucleo-l476rg", "ek-ra8d1")
"""A core without a cycle counter, RAM in two places, and memory that no machine has."""


def test_there_are_many() -> None:
    assert len(OWNED) >= 14


@pytest.mark.parametrize("name", OWNED)
def test_facts_are_those_of_the_chip(name: str) -> None:
    board = OWNED[name]
    assert board.note == "never run on the board"
    assert board.table(ClockTable) is not None
    assert launchers_of(board)
    methods = flashing(board)
    assert methods is not None
    probe = methods.methods["probe-rs"]
    assert isinstance(probe, ProbeRs)
    chip = find_chip(probe.chip)
    assert board.cpu == chip.cpu
    flash = [r for r in board.regions.values() if r.kind is Memory.FLASH]
    ram = [r for r in board.regions.values() if r.kind is Memory.RAM]
    if chip.has_flash:
        assert all(chip.flash.holds(region.origin, region.size) for region in flash)
    assert all(any(known.holds(r.origin, r.size) for known in chip.ram) for r in ram)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.long) for name in OWNED],
)
def test_images_are_verified(cmbuild: Commands, name: str) -> None:
    run = cmbuild("run", NETWORK, "--board", name, "--json")
    assert run.exit_code == 0, run.stderr
    document = run.document
    assert document["verified"] is True
    assert all(op["instructions"] > 0 for op in document["instructions"]["per_op"])
    has_model = OWNED[name].cpu not in ("cortex-m85",)
    assert (document["cycles"] is not None) == has_model
