"""Predicts the cycles of a plan from a table of what kernels cost on each core."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from cmbuild.boards.board import Board
from cmbuild.cycles.clock import ClockTable
from cmbuild.sizing.results import PredictedCycles

if TYPE_CHECKING:
    from cmcompiler.plan.plan import Plan, PlanStep

COSTS = Path(__file__).with_name("costs.json")

Work = tuple[float, ...]
"""Of a kernel in a plan: multiply-accumulates or additions, elements of outputs, calls; and again
the first two where a convolution's window is larger than a pixel."""

_WINDOW = re.compile(r"(\d+)×(\d+)")


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RecordedRun(_Record):
    """Cycles of a model on the simulator, and its work by kernel."""

    cycles: int
    work: Mapping[str, Work]


class CoreCosts(_Record):
    """What work costs on a core, in cycles.

    Attributes:
        isa: that kernels use.
        error_percent: the largest difference from the recorded runs.
        kernels: cycles of a unit of each kind of work.
        recorded: runs that the costs are fitted to, by model.
    """

    isa: str
    error_percent: int
    kernels: Mapping[str, Work]
    recorded: Mapping[str, RecordedRun]

    def cycles(self, work: Mapping[str, Work]) -> float | None:
        """None if a kernel's cost is not known."""
        if not work.keys() <= self.kernels.keys():
            return None
        return sum(
            unit * amount
            for kernel, amounts in work.items()
            for unit, amount in zip(self.kernels[kernel], amounts, strict=True)
        )


class CostTable(_Record):
    """costs.json, which benchmarks/costs.py writes.

    Attributes:
        provenance: of the recorded runs.
    """

    provenance: str
    cores: Mapping[str, CoreCosts]


@cache
def known_costs() -> CostTable:
    return CostTable.model_validate_json(COSTS.read_bytes())


def predict(board: Board, isa: str, work: Mapping[str, Work]) -> PredictedCycles | None:
    """None where the cost of a kernel on the board's core and instruction set is not known."""
    costs = known_costs().cores.get(board.cpu)
    if costs is None or costs.isa != isa or not work:
        return None
    cycles = costs.cycles(work)
    if cycles is None:
        return None
    clock = board.table(ClockTable)
    milliseconds = None if clock is None else cycles / clock.hertz * 1e3
    return PredictedCycles(round(cycles), milliseconds, costs.error_percent)


def work_by_kernel(plan: Plan) -> dict[str, Work]:
    """The work of each kernel in a plan, all branches included."""
    found: defaultdict[str, Work] = defaultdict(lambda: (0.0,) * 5)
    for kernel, work in work_of_steps(plan):
        found[kernel] = tuple(map(sum, zip(found[kernel], work, strict=True)))
    return dict(found)


def work_of_steps(plan: Plan) -> list[tuple[str, Work]]:
    """The kernel and the work of each step; the stages of a stream are called in turns."""
    calls: Counter[int] = Counter()
    for index, step in enumerate(plan.steps):
        if step.stages:
            calls[index] += len(step.turns) + 1
            calls.update(index + 1 + stage for stage in step.turns)
    return [(s.kernel, _work(s, calls.get(index, 1))) for index, s in enumerate(plan.steps)]


def _work(step: PlanStep, calls: int) -> Work:
    match = _WINDOW.search(step.title)
    area = prod(map(int, match.groups())) if match else 1
    is_pool = "pool2d" in step.kernel
    amount = float(step.elements * area if is_pool else step.macs)
    is_window = step.kernel.startswith("conv2d") and area > 1
    again = (amount, float(step.elements)) if is_window else (0.0, 0.0)
    return (amount, float(step.elements), float(calls), *again)
