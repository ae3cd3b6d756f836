"""Differences of predicted cycles with flash from the runs that counts of reads are fitted to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import median
from typing import Any

from cmbuild.catalog import find_board
from cmbuild.cycles.clock import ClockTable
from cmbuild.sizing.waiting import ChipReads, StepWork, chip_key, known_reads, step_cycles
from cmcompiler.ir.work import Work
from harness.sources import ROOT

RUNS: Mapping[str, Mapping[str, Any]] = json.loads(
    (ROOT / "benchmarks" / "recorded_reads.json").read_text()
)
"""By board and model: cycles with flash, and for each step its kernel, family, work, bytes of
constants and cycles of the core.
"""


def steps_of(run: Mapping[str, Any]) -> list[StepWork]:
    return [
        StepWork(kernel, family, Work(**work), constants)
        for kernel, family, work, constants, _ in run["steps"]
    ]


def reads_of(name: str) -> ChipReads:
    """What kernels read of a board's flash."""
    board = find_board(name)
    clock = board.table(ClockTable)
    assert clock is not None and clock.flash is not None
    return known_reads().chips[chip_key(board.cpu, board.fpu, clock.flash)]


def differences(name: str) -> dict[str, float]:
    """By model, as a share of the simulator's cycles, from the core's own cycles of each step."""
    clock, reads = find_board(name).table(ClockTable), reads_of(name)
    assert clock is not None and clock.flash is not None
    model, errors = clock.flash.at(clock.hertz), {}
    for network, run in RUNS[name].items():
        total = 0.0
        for step, (*_, core) in zip(steps_of(run), run["steps"], strict=True):
            cycles = step_cycles(step, core, reads, model)
            assert cycles is not None and cycles >= core
            total += cycles
        errors[network] = total / run["with_flash"] - 1
    return errors


def table() -> tuple[list[str], list[list[str]]]:
    """The header and the rows of the table in docs/cycles.md."""
    rows = []
    for name in RUNS:
        sizes = {model: 100 * abs(each) for model, each in differences(name).items()}
        worst = max(sizes, key=sizes.__getitem__)
        largest = f"{sizes[worst]:.1f} % ({worst.removeprefix('small_networks-')})"
        rows.append([f"`{name}`", str(len(sizes)), largest, f"{median(sizes.values()):.1f} %"])
    return ["board", "runs", "largest difference", "median"], rows
