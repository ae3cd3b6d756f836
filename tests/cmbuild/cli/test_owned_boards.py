"""Boards that people own: what their folders say agrees with the table of chips, and images run."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from harness.commands import NETWORK, Commands
from intelhex import IntelHex

from cmbuild.boards.memory import Memory
from cmbuild.catalog import shipped_boards
from cmbuild.chips.table import find_chip
from cmbuild.cycles.clock import ClockTable
from cmbuild.hardware.methods.probe_rs import ProbeRs
from cmbuild.hardware.registry import flashing
from cmbuild.image.elf import entry, loaded
from cmbuild.launchers.registry import launchers_of

OWNED = {board.name: board for board in shipped_boards() if flashing(board) is not None}
SAMPLE = ("pico", "nucleo-l476rg", "ek-ra8d1", "teensy-41")
"""A core without a cycle counter, RAM in two places, memory that no machine has, a boot header."""
WITHOUT_PROBE_RS = {
    "apollo510-evb": "pyocd",
    "ensemble-e8-devkit": "pyocd",
    "teensy-41": "teensy",
}
"""The flash methods of boards that probe-rs does not know, or that have no pins for a probe."""

FLASH = 0x60000000
"""Of the Teensy."""


def test_there_are_many() -> None:
    assert len(OWNED) >= 20


@pytest.mark.parametrize("name", OWNED)
def test_facts_are_those_of_the_chip(name: str) -> None:
    board = OWNED[name]
    clock = board.table(ClockTable)
    assert clock is not None
    code_ram = None if clock.flash is None else clock.flash.code_ram
    alias = None if code_ram is None or code_ram.origin is None else code_ram.region
    assert board.note == "never run on the board"
    assert launchers_of(board)
    methods = flashing(board)
    assert methods is not None
    if name in WITHOUT_PROBE_RS:
        assert tuple(methods.methods) == (WITHOUT_PROBE_RS[name],)
        return
    probe = methods.methods["probe-rs"]
    assert isinstance(probe, ProbeRs)
    chip = find_chip(probe.chip)
    assert board.cpu == chip.cpu
    flash = [r for r in board.regions.values() if r.kind is Memory.FLASH]
    ram = [r for r in board.regions.values() if r.kind is Memory.RAM and r.name != alias]
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
    image = cmbuild.folder / f"build/network/{name}/runner/runner.elf"
    if name == "pico":
        check_second_stage(image)
    if name == "teensy-41":
        check_boot_header(image)
    has_model = OWNED[name].cpu not in ("cortex-m85",)
    assert (document["cycles"] is not None) == has_model


def check_second_stage(image: Path) -> None:
    """RP2040 datasheet, "Flash second stage": 256 bytes, the last four a checksum of the others."""
    (address, data), *_ = sorted(loaded(image))
    checksum = 0xFFFFFFFF
    for byte in data[:252]:
        checksum ^= byte << 24
        for _ in range(8):
            checksum = (checksum << 1 ^ (0x04C11DB7 if checksum >> 31 else 0)) & 0xFFFFFFFF
    assert address == 0x10000000
    assert int.from_bytes(data[252:256], "little") == checksum
    assert entry(image) > 0x10000400, "code follows the vectors"


def check_boot_header(image: Path) -> None:
    """i.MX RT1060 reference manual, "System Boot": what the boot ROM reads, and where it points."""
    header = bytes(loaded(image)[0][1])
    assert min(address for address, _ in loaded(image)) == FLASH
    words = struct.unpack("<11I", header[0x1000:0x102C])
    vectors = int.from_bytes(header[0x2004:0x2008], "little")
    assert header[:4] == b"FCFB"
    assert int.from_bytes(header[0x50:0x54], "little") == 8 << 20
    assert words[:8] == (0x432000D1, FLASH + 0x2000, 0, 0, FLASH + 0x1020, FLASH + 0x1000, 0, 0)
    assert words[8] == FLASH and words[10] == 0
    assert vectors == entry(image)
    end = max(address + len(data) for address, data in loaded(image))
    assert FLASH + words[9] == end
    hexadecimal = IntelHex(str(image.with_suffix(".hex")))
    assert (hexadecimal.minaddr(), hexadecimal.maxaddr() + 1) == (FLASH, end)
