#!/usr/bin/env python3
"""Fits what kernels read of flash to runs, for `cmbuild fit`.

    for board in nucleo-l4r5zi nucleo-u575zi-q nucleo-g0b1re nucleo-h7a3zi-q stm32f746g-disco; do
        cmbuild run model.pte --board $board --hot off --build-dir build
    done
    python benchmarks/flash_reads.py build model.pte

Takes runs on boards that describe their flash. Writes recorded_reads.json beside this script and
the counts fitted to them, cmbuild/sizing/flash.json, as costs.py does with cycles. Prints the
differences of cycles with flash: from the run's own cycles of the core, with the model among those
that counts are fitted to and without it; and from those that `fit` predicts.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from costs import FITTED, SMALLEST
from scipy.optimize import nnls

from cmbuild.boards.board import Board
from cmbuild.catalog import find_board
from cmbuild.cli.session import session
from cmbuild.cycles.clock import ClockTable
from cmbuild.cycles.counter import PROFILE, by_step, flash_model, readings_before
from cmbuild.cycles.estimate import between_readings
from cmbuild.cycles.flash import FlashModel
from cmbuild.cycles.intervals import Intervals
from cmbuild.cycles.profile import Edges, read_profile
from cmbuild.pipeline.copies import OFF
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.pipeline import Pipeline, build_folder
from cmbuild.pipeline.request import BuildRequest
from cmbuild.sizing.fits import Fits
from cmbuild.sizing.prediction import known_costs
from cmbuild.sizing.waiting import (
    READS,
    ChipReads,
    KernelReads,
    StepWork,
    chip_key,
    step_cycles,
)
from cmcompiler.ir.work import Work
from cmcompiler.plan.record import PlanRecord

BOARDS = (
    *("nucleo-l4r5zi", "nucleo-u575zi-q", "nucleo-g0b1re"),
    *("nucleo-h7a3zi-q", "stm32f746g-disco"),
)
RECORDED = Path(__file__).with_name("recorded_reads.json")
COUNTS = tuple(KernelReads.model_fields)
ROUNDINGS = ("_half_up", "_general", "_clamped", "_right")
"""Ends of the names of kernels that read alike."""

_FEW = 4

Step = dict[str, Any]
"""`step`, a StepWork; `cycles`, `with_flash` and the counts of a run."""


def steps_of(pipeline: Pipeline, board: str, model: Path, build: Path) -> list[Step]:
    """The steps of a run with all in flash."""
    request = compose(BuildRequest, model=str(model), board=board, build_dir=build, hot=OFF)
    kept = build_folder(request)
    record = PlanRecord.model_validate_json((kept / "plan/plan.json").read_bytes())
    run = Intervals.model_validate_json((kept / "cycles/intervals.json").read_bytes())
    profile = read_profile(kept / "simulate" / PROFILE)
    plan = Fits(pipeline).plan(request)
    if plan is None or [s.source for s in record.steps] != [s.source for s in plan.steps]:
        raise SystemExit(f"{model} on {board}: another plan")
    both = zip(profile.segments, profile.flash, strict=True)
    counts = {id(segment): reads for segment, reads in both}

    def counted(name: str) -> list[float]:
        def amount(segment: Edges) -> float:
            return float(getattr(counts[id(segment)], name))

        between = between_readings(profile, readings_before(record.steps), amount)
        return by_step(between, record.steps)

    columns = {name: counted(name) for name in COUNTS}
    columns["cycles"] = by_step(run.cycles, record.steps)
    columns["with_flash"] = by_step(run.with_flash, record.steps)
    return [
        {"step": step, **{name: column[index] for name, column in columns.items()}}
        for index, step in enumerate(StepWork.of_plan(plan))
    ]


def plain(kernel: str) -> str:
    """The name of a kernel without its rounding."""
    for end in ROUNDINGS:
        kernel = kernel.removesuffix(end)
    return kernel


def fitted(models: Mapping[str, Sequence[Step]]) -> dict[str, KernelReads]:
    steps = [(step, sum(each["cycles"] for each in run)) for run in models.values() for step in run]
    table = {}
    for kernel in sorted({plain(step["step"].kernel) for step, _ in steps}):
        own = [(step, whole) for step, whole in steps if plain(step["step"].kernel) == kernel]
        names = FITTED if len(own) > _FEW else (*FITTED[:2], "calls")
        work = np.array([[getattr(step["step"].work, name) for name in names] for step, _ in own])
        cycles = np.array([step["cycles"] for step, _ in own])
        share = 1 / np.sqrt(np.maximum(cycles, SMALLEST) * [whole for _, whole in own])
        prices = {}
        for count in COUNTS:
            amounts = np.array([step[count] for step, _ in own])
            factors = nnls(work * share[:, None], amounts * share)[0]
            prices[count] = Work(
                **{name: float(f"{each:.4g}") for name, each in zip(names, factors, strict=True)}
            )
        table[kernel] = KernelReads(**prices)
    return table


def predicted(reads: ChipReads, model: FlashModel, run: Sequence[Step], cpu: str | None) -> float:
    """Cycles with flash.

    Args:
        cpu: whose costs to take; None for the run's own cycles.
    """
    total, costs = 0.0, None if cpu is None else known_costs().cores[cpu]
    for each in run:
        step = each["step"]
        core = each["cycles"] if costs is None else costs.cycles({step.family: step.work})
        cycles = None if core is None else step_cycles(step, core, reads, model)
        if cycles is None:
            return math.nan
        total += cycles
    return total


def fit(board: Board, models: Mapping[str, Sequence[Step]]) -> ChipReads:
    """Counts of a board's runs."""
    model = flash_model(board)
    assert model is not None
    reads = ChipReads(error_percent=0, kernels=fitted(models))
    largest = 0.0
    for name, run in models.items():
        true = sum(step["with_flash"] for step in run)
        others = {other: each for other, each in models.items() if other != name}
        without = ChipReads(error_percent=0, kernels=fitted(others))
        ways = ((reads, None), (without, None), (reads, board.cpu))
        errors = [predicted(table, model, run, cpu) / true - 1 for table, cpu in ways]
        largest = max(largest, abs(errors[0]))
        print(f"{board.name:18} {name:30}", *(f"{error:+7.1%}" for error in errors))
    return reads.model_copy(update={"error_percent": math.ceil(100 * largest)})


def nonzero(work: Work) -> dict[str, float]:
    return {name: each for name, each in work._asdict().items() if each}


def lines(chips: Mapping[str, ChipReads]) -> Iterator[str]:
    """JSON with a kernel a line."""
    yield '{\n "provenance": "cmbuild run --hot off in Unicorn, gcc 12.2; all read from flash",'
    yield ' "chips": {'
    for number, (key, reads) in enumerate(chips.items(), 1):
        yield f'  {json.dumps(key)}: {{\n   "error_percent": {reads.error_percent},'
        yield '   "kernels": {'
        for index, (kernel, prices) in enumerate(reads.kernels.items(), 1):
            each = {name: nonzero(getattr(prices, name)) for name in COUNTS}
            text = json.dumps({name: work for name, work in each.items() if work})
            yield f"    {json.dumps(kernel)}: {text}" + "," * (index < len(reads.kernels))
        yield "   }\n  }" + "," * (number < len(chips))
    yield " }\n}"


def recorded(runs: Mapping[str, Mapping[str, Sequence[Step]]]) -> str:
    """JSON of totals, with the steps that they are of."""
    boards = []
    for board, models in runs.items():
        entries = []
        for name, run in models.items():
            total = round(sum(step["with_flash"] for step in run))
            steps = ",\n   ".join(
                json.dumps(
                    [
                        *(each["step"].kernel, each["step"].family, nonzero(each["step"].work)),
                        *(each["step"].constants, round(each["cycles"])),
                    ]
                )
                for each in run
            )
            entries.append(f'  "{name}": {{"with_flash": {total}, "steps": [\n   {steps}]}}')
        boards.append(f' "{board}": {{\n' + ",\n".join(entries) + "\n }")
    return "{\n" + ",\n".join(boards) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("build", type=Path, help="build folder of the runs")
    parser.add_argument("programs", type=Path, nargs="+", help=".pte or .tflite files")
    arguments = parser.parse_args()
    runs: dict[str, dict[str, list[Step]]] = {}
    chips = {}
    with (
        click.Context(click.Command("reads")),
        session(arguments.build / "logs", json=True) as work,
    ):
        for name in BOARDS:
            board = find_board(name)
            runs[name] = {
                program.stem: steps_of(work.pipeline, name, program, arguments.build)
                for program in arguments.programs
            }
            clock = board.table(ClockTable)
            assert clock is not None and clock.flash is not None
            chips[chip_key(board.cpu, board.fpu, clock.flash)] = fit(board, runs[name])
    READS.write_text("\n".join(lines(chips)) + "\n")
    RECORDED.write_text(recorded(runs))


if __name__ == "__main__":
    main()
