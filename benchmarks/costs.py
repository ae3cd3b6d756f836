#!/usr/bin/env python3
"""Fits what kernels cost on each core to recorded runs, for `cmbuild fit`.

    python benchmarks/costs.py build --run --boards mps2-an386,mps2-an500,mps2-an505
    python benchmarks/costs.py build --run --only-new --programs $programs --again '*_s16,*_w4'
    python benchmarks/costs.py build --run --only-new --programs $models --budgets $budgets

    python benchmarks/ram_curve.py --feed $feed --build-dir build/$feed $models
    python benchmarks/costs.py build --only-new --programs $models --budgets $budgets --feeds $feed

With --run, `cmbuild bench` runs them first: the zoo and benchmarks/small_networks.py, those of the
zoo with weights of int16 on cores with the DSP extension, or the programs within the budgets. Reads
the cycles that these runs left in the build folder, and writes recorded_runs.json beside this
script and the costs fitted to them, cmbuild/sizing/costs.json. Costs are the least squares of the
differences, none below zero but that of outputs that a ReLU makes zero. Kernels for weights of
int16 are fitted apart, all others to runs with int8 weights.
Runs of another plan than today's are left out. Recorded runs of other programs stay, and so do the
costs of kernels that no run calls.
Prints the difference of each model, and, for int8, the one that it has if it is left out.
"""

from __future__ import annotations

import argparse
import math
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import partial
from itertools import product
from pathlib import Path
from typing import TypeVar

import click
import numpy as np
from recorded_runs import RecordedRun, read_recorded, write_tables
from scipy.optimize import nnls
from small_networks import NAMES

from cmbuild.catalog import find_board
from cmbuild.cli.session import session
from cmbuild.cycles.counter import by_step
from cmbuild.cycles.intervals import Intervals
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.pipeline import Pipeline, build_folder
from cmbuild.pipeline.request import NARROW, WIDE, BuildRequest
from cmbuild.sizing.fits import Fits
from cmbuild.sizing.prediction import (
    CoreCosts,
    CostTable,
    known_costs,
    work_by_kernel,
    work_of_steps,
)
from cmcompiler import zoo
from cmcompiler.importer.suffixes import PROGRAMS
from cmcompiler.ir.op import OUTSIDE
from cmcompiler.ir.work import Work
from cmcompiler.isa import Isa
from cmcompiler.plan.record import PlanRecord

BOARDS = ["microbit", "mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505", "corstone300"]
MODELS = [*zoo.names(), *(f"benchmarks/small_networks.py:{name}" for name in NAMES)]
SMALLEST = 20.0
"""Cycles of a step below which its relative difference does not count more."""

FITTED = (
    *("filled", "outputs", "calls", "pixels", "segments"),
    *("clipped", "portions", "operands", "columns", "copied"),
)
"""Fields of Work that costs are fitted to."""

_BOTH = "conv2d"
"""The kernel that models call both with a ReLU and without, which tells what it saves."""

_FEW = 4
"""Steps that tell no more than the cost of a multiply-accumulate and of an output."""

_TILED = "_tiled"
"""The end of the names of kernels for narrow tiles."""

_NEARLY = 0.5
"""The least cost of a multiply-accumulate in tiles, as a part of that in whole images: networks of
few channels tell too little of it.
"""

_SUFFIX = "_w16"
"""The end of the names of kernels for weights of int16."""

V = TypeVar("V")
Step = tuple[str, str, Work, float]
"""Model, kernel, work and cycles of a step."""


def fitted(steps: Sequence[Step], everything: Sequence[Step] = ()) -> dict[str, Work]:
    """Cycles of a unit of work; each step counts by its share of its model.

    Args:
        everything: all steps of the models, if these are some.
    """
    total: defaultdict[str, float] = defaultdict(float)
    for model, _, _, cycles in everything or steps:
        total[model] += cycles
    fit: dict[str, Work] = {}
    for kernel in sorted(
        {kernel for _, kernel, _, _ in steps}, key=lambda name: (name != _BOTH, name)
    ):
        own = [step for step in steps if step[1] == kernel]
        names = FITTED if len(own) > _FEW else FITTED[:2]
        saved = 0.0
        if any(step[2].rectified for step in own):
            saved = fit[_BOTH].rectified if _BOTH in fit else _saved(own, total)
        whole = fit.get(kernel.removesuffix(_TILED), Work()).filled
        costs = _least(own, total, names, saved, _NEARLY * whole)
        fit[kernel] = Work(**costs, rectified=saved)
    return fit


def _saved(own: Sequence[Step], total: Mapping[str, float]) -> float:
    return -_least(own, total, (*FITTED, "rectified"))["rectified"]


def _least(
    own: Sequence[Step],
    total: Mapping[str, float],
    names: Sequence[str],
    saved: float = 0.0,
    floor: float = 0.0,
) -> dict[str, float]:
    """The cost of each kind of work, what rectified outputs save below zero.

    Args:
        saved: what these cost, which is known.
        floor: the least cost of `filled`.
    """
    signs = [-1 if name == "rectified" else 1 for name in names]
    work = np.array([[getattr(step[2], name) for name in names] for step in own]) * signs
    cycles = np.array([step[3] for step in own])
    rest = cycles - saved * np.array([step[2].rectified for step in own])
    rest -= floor * np.array([step[2].filled for step in own])
    share = 1 / np.sqrt(np.maximum(cycles, SMALLEST) * [total[step[0]] for step in own])
    costs = nnls(work * share[:, None], rest * share)[0]
    prices = dict(zip(names, costs, strict=True))
    prices["filled"] += floor
    return {name: float(f"{cost:.5g}") for name, cost in prices.items()}


def finished(
    isa: str, kernels: Mapping[str, Work], recorded: Mapping[str, RecordedRun]
) -> CoreCosts:
    costs = CoreCosts(isa=isa, error_percent=0, kernels=kernels)
    errors = [difference(costs, run) for run in recorded.values()]
    return costs.model_copy(update={"error_percent": math.ceil(100 * max(map(abs, errors)))})


def difference(costs: CoreCosts, run: RecordedRun) -> float:
    predicted = costs.cycles(run.work)
    return math.nan if predicted is None else predicted / run.cycles - 1


@dataclass
class Runs:
    """Measured steps and recorded runs of a core, from a build folder."""

    steps: list[Step] = field(default_factory=list)
    recorded: dict[str, RecordedRun] = field(default_factory=dict)

    def add(
        self,
        pipeline: Pipeline,
        build: Path,
        board: str,
        weights: str,
        models: Sequence[str],
        *,
        budgets: Sequence[str | None] = (None,),
        feeds: Sequence[str | None] = (None,),
    ) -> None:
        """Adds the runs of models on a board; missing ones, and those of another plan than today's,
        are left out.

        Args:
            budgets, feeds: `--ram-budget` and `--feed` of the runs; None for those without.
        """
        fits = Fits(pipeline)
        for model, budget, feed in product(models, budgets, feeds):
            request = compose(
                BuildRequest,
                model=model,
                board=board,
                build_dir=build_dir_of(build, budget, feed),
                weights_as=weights,
                io=None if weights == NARROW and budget is None else "int8",
                ram_budget=budget,
                feed=feed,
            )
            kept = build_folder(request)
            name = Path(model).name.removesuffix(".pte") if model.endswith(PROGRAMS) else ""
            name = name or kept.parent.name
            name = name if weights == NARROW else f"{name} {weights}"
            name = name if budget is None else f"{name} within {budget}"
            name = name if feed is None else f"{name} by {feed}"
            try:
                record = PlanRecord.model_validate_json((kept / "plan/plan.json").read_bytes())
                run = Intervals.model_validate_json((kept / "cycles/intervals.json").read_bytes())
            except FileNotFoundError:
                print(f"{name} on {board}: no run")
                continue
            plan = fits.plan(request)
            if plan is None or [s.source for s in record.steps] != [s.source for s in plan.steps]:
                print(f"{name} on {board}: another plan")
                continue
            cycles = by_step(run.cycles, record.steps)
            self.steps += [
                (name, kernel, amount, taken)
                for (kernel, amount), taken in zip(work_of_steps(plan), cycles, strict=True)
                if kernel not in OUTSIDE
            ]
            self.recorded[name] = RecordedRun(cycles=round(sum(cycles)), work=work_by_kernel(plan))


def build_dir_of(build: Path, budget: str | None, feed: str | None) -> Path:
    """Where runs within a budget, with inputs fed so, are in a build folder."""
    return build / (feed or "") / (budget or "")


def with_wide(costs: CoreCosts, runs: Runs, recorded: Mapping[str, RecordedRun]) -> CoreCosts:
    """With the costs of kernels for weights of int16, which only these runs call.

    They differ from those of the same kernel for int8 by the cycles of a multiply-accumulate.
    """
    kernels = dict(costs.kernels)
    for kernel in sorted({step[1] for step in runs.steps} - kernels.keys()):
        base = costs.kernels[kernel.removesuffix(_SUFFIX)]._replace(filled=0.0)
        rest = [
            (model, kernel, Work(filled=work.filled), cycles - work.at(base))
            for model, name, work, cycles in runs.steps
            if name == kernel
        ]
        kernels[kernel] = base._replace(filled=fitted(rest, runs.steps)[kernel].filled)
    return finished(costs.isa, kernels, {**recorded, **runs.recorded})


def run_models(build: Path, boards: Sequence[str], models: Sequence[str], *options: str) -> None:
    """Leaves the cycles of models in the build folder; what does not fit a board has none there."""
    where = ("--boards", ",".join(boards), "--build-dir", str(build))
    subprocess.run(
        ["cmbuild", "bench", "--models", ",".join(models), *where, *options], check=False
    )


def run_all(arguments: argparse.Namespace) -> None:
    """Runs what the other arguments fit costs to."""
    build, boards = arguments.build, arguments.boards.split(",")
    if arguments.only_new or arguments.only_record:
        for budget, feed in product(arguments.budgets, arguments.feeds):
            options = [] if budget is None else ["--ram-budget", budget, "--io", "int8"]
            options += [] if feed is None else ["--feed", feed]
            if arguments.weights_as == WIDE:
                options += ["--weights-as", WIDE, *([] if "--io" in options else ["--io", "int8"])]
            folder = build_dir_of(build, budget, feed)
            run_models(folder, boards, arguments.programs, *options)
        return
    if not arguments.only_wide:
        run_models(build, boards, MODELS)
    wide = [name for name in boards if find_board(name).isas[0] is Isa.DSP]
    if wide:
        run_models(build, wide, zoo.names(), "--weights-as", WIDE, "--io", "int8")


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("build", type=Path, help="build folder of a `cmbuild bench`")
    parser.add_argument("--run", action="store_true", help="run the models first")
    parser.add_argument(
        "--only-wide",
        action="store_true",
        help="only kernels for weights of int16; the costs of others stay",
    )
    parser.add_argument(
        "--only-new",
        action="store_true",
        help="only kernels without costs, and models that call them; others stay",
    )
    parser.add_argument(
        "--only-record",
        action="store_true",
        help="all costs stay; runs of --programs are recorded again, and errors computed from them",
    )
    parser.add_argument(
        "--boards",
        default=",".join(BOARDS),
        help="only the cores of these boards; the costs of others stay",
    )
    parser.add_argument(
        "--programs",
        type=lambda text: text.split(","),
        default=MODELS,
        help="with --only-new, --only-record: of runs of these .tflite and .pte files, with commas",
    )
    parser.add_argument(
        "--again",
        type=lambda text: text.split(","),
        default=[],
        help="with --only-new: kernels whose costs are fitted again, as patterns with commas",
    )
    parser.add_argument(
        "--weights-as",
        choices=(NARROW, WIDE),
        default=NARROW,
        help="with --only-new, --only-record: weights of the runs",
    )
    for name in ("budget", "feed"):
        option = "ram-budget" if name == "budget" else name
        parser.add_argument(
            f"--{name}s",
            type=lambda text: [None if each == "none" else each for each in text.split(",")],
            default=[None],
            help=f"with --only-new: of runs with these --{option}, with commas; none: without",
        )
    return parser


def main() -> None:
    arguments = command_line().parse_args()
    if arguments.run:
        run_all(arguments)
    build, cores, recorded = arguments.build, dict(known_costs().cores), read_recorded()
    with click.Context(click.Command("costs")), session(build / "logs", json=True) as work:
        for name in arguments.boards.split(","):
            board = find_board(name)
            isa, runs, known = board.isas[0], Runs(), known_costs().cores[board.cpu]
            if arguments.only_wide:
                own = narrow(recorded[board.cpu])
                costs = finished(known.isa, narrow(known.kernels), own)
            elif arguments.only_new or arguments.only_record:
                chosen = {"budgets": arguments.budgets, "feeds": arguments.feeds}
                runs.add(
                    work.pipeline, build, name, arguments.weights_as, arguments.programs, **chosen
                )
                stay = {each for each in known.kernels if not fnmatches(each, arguments.again)}
                new = [step for step in runs.steps if step[1] not in stay]
                telling = runs.steps if arguments.only_record else new
                called = {model: runs.recorded[model] for model, *_ in telling}
                own = {**recorded[board.cpu], **called}
                prices = sorted({**known.kernels, **fitted(new, runs.steps)}.items())
                costs = finished(known.isa, dict(prices), own)
                for model, run in called.items():
                    print(f"{board.cpu:16} {model:30} {difference(costs, run):+6.1%}")
                cores[board.cpu], recorded[board.cpu] = costs, own
                continue
            else:
                runs.add(work.pipeline, build, name, NARROW, MODELS)
                own = {**narrow(recorded[board.cpu]), **runs.recorded}
                prices = {**narrow(known.kernels), **fitted(runs.steps)}
                costs = finished(isa.label, prices, own)
            for model, run in runs.recorded.items():
                others = [step for step in runs.steps if step[0] != model]
                left_out = costs.model_copy(update={"kernels": fitted(others)})
                figures = difference(costs, run), difference(left_out, run)
                print(f"{board.cpu:16} {model:20} {figures[0]:+6.1%} {figures[1]:+7.1%}")
            if isa is Isa.DSP:
                wide = Runs()
                wide.add(work.pipeline, build, name, WIDE, zoo.names())
                if wide.recorded:
                    costs = with_wide(costs, wide, own)
                    own = {**own, **wide.recorded}
                else:  # those of an earlier fit
                    own = {**own, **wide_only(recorded[board.cpu])}
                    costs = finished(isa.label, {**costs.kernels, **wide_only(known.kernels)}, own)
                for model, run in wide.recorded.items():
                    print(f"{board.cpu:16} {model:26} {difference(costs, run):+6.1%}")
            cores[board.cpu], recorded[board.cpu] = costs, dict(own)
    provenance = (
        "cmbuild bench on QEMU with gcc 12.2, cycles by cmbuild/cycles; float boundary, int8 with "
        "weights of int16"
    )
    write_tables(CostTable(provenance=provenance, cores=cores), recorded)


def fnmatches(name: str, patterns: Sequence[str]) -> bool:
    return any(map(partial(fnmatch, name), patterns))


def wide_only(named: Mapping[str, V]) -> dict[str, V]:
    """The entries of kernels for weights of int16, by kernel or model."""
    return {name: each for name, each in named.items() if name not in narrow(named)}


def narrow(costs: Mapping[str, V]) -> dict[str, V]:
    """Without those of weights of int16, by kernel or model."""
    return {name: cost for name, cost in costs.items() if not name.endswith((_SUFFIX, WIDE))}


if __name__ == "__main__":
    main()
