"""Runs on a board behind a debug probe: a stand-in for its program, with QEMU's gdb server."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from harness import probe_program
from harness.commands import NETWORK, Commands

WORDS = ("run", NETWORK, "--board", "netduinoplus2", "--on", "probe")

FAULTS = {
    "no probe": "failed with status 1: No available debug probes are connected",
    "wrong chip": "failed with status 1: C Error: connected to IDCODE 0x2ba01477, which is no "
    "STM32F4",
    "locked": "failed with status 1: C Error: AP#0 is locked; the chip must be erased first",
    "protected": "refused to erase flash at 0x08000000",
    "worn": "holds other bytes at 0x08000000 than were written",
    "unplugged": "closed the connection",
}


@pytest.fixture
def probed(cmbuild: Commands, tmp_path: Path) -> Commands:
    """Commands with the stand-in in place of OpenOCD."""
    folder = tmp_path / "probe"
    folder.mkdir()
    program = folder / "openocd"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{probe_program.__file__}" "$@"\n')
    program.chmod(0o755)
    path = f"{folder}:{cmbuild.variables['PATH']}"
    return replace(cmbuild, environment={**cmbuild.environment, "PATH": path})


def test_an_image_is_flashed_run_and_verified(probed: Commands) -> None:
    """Its cycles are those of a timer of QEMU's machine, which has no cycle counter."""
    run = probed(*WORDS, "-n", "2", "--json")
    assert run.exit_code == 0, run.stderr
    document = run.document
    assert (document["verified"], document["samples"]) == (True, 2)
    assert (document["launcher"], document["machine"]) == (
        "probe",
        "netduinoplus2 through openocd",
    )
    counted = document["instructions"]
    assert (counted["unit"], counted["provenance"]) == ("cycles", "measured on silicon")
    assert counted["total"] > 0
    assert len(counted["per_op"]) == 6
    assert document["cycles"]["total"] > 0  # the model's, beside those that were measured


def test_each_fault_is_one_line(probed: Commands) -> None:
    for fault, said in FAULTS.items():
        broken = replace(probed, environment={**probed.environment, "PROBE_FAULT": fault})
        run = broken(*WORDS)
        assert run.exit_code == 1, fault
        error, hint = run.stderr.splitlines()[-2:]
        assert error == f"error: netduinoplus2 through openocd {said}"
        assert "probe.txt" in hint
    assert probed(*WORDS).exit_code == 0


def test_a_board_without_a_probe(cmbuild: Commands) -> None:
    run = cmbuild("run", NETWORK, "--board", "corstone300", "--on", "probe")
    assert run.exit_code == 2
    assert run.stderr.splitlines()[0] == (
        "error: corstone300 has no debug probe: no [flash.probe-rs], [flash.pyocd] or "
        "[flash.openocd]"
    )
