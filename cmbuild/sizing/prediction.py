"""Predicts the cycles of a plan from a table of what kernels cost on each core."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from cmbuild.boards.board import Board
from cmbuild.cycles.clock import ClockTable
from cmbuild.sizing.results import PredictedCycles
from cmcompiler.ir.op import OUTSIDE
from cmcompiler.ir.work import Work, plain
from cmcompiler.isa import Isa
from cmcompiler.ops.support.arguments import rectified
from cmcompiler.plan.runs.tile_calls import TileCalls

if TYPE_CHECKING:
    from cmcompiler.plan.plan import Plan, PlanStep

COSTS = Path(__file__).with_name("costs.json")

_AT_ONCE = {Isa.SCALAR: 1, Isa.DSP: 4, Isa.MVE: 16}
"""Operands in int8 that inner loops take at once; the last ones take as long as if all were there.
"""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CoreCosts(_Record):
    """Prices of work on a core, in cycles.

    Attributes:
        isa: that kernels use.
        error_percent: the largest difference from the runs that the costs are fitted to.
        kernels: cycles of one of each kind of work, by family of kernels.
    """

    isa: str
    error_percent: int
    kernels: Mapping[str, Work]

    def cycles(self, work: Mapping[str, Work]) -> float | None:
        """None if a kernel's cost is not known."""
        total = 0.0
        for kernel, amounts in work.items():
            if (price := self.prices_of(kernel)) is None:
                return None
            total += amounts.at(price)
        return total

    def prices_of(self, kernel: str) -> Work | None:
        """Prices of a kernel; those of whole images where none for tiles are known. Then `tiles` is
        not known either, so that only rows alone are priced so. A sum of all rows at once takes as
        long as one that goes on with each row. Rows from outside cost what their stream does.
        """
        if kernel in OUTSIDE:
            return Work()
        plain = kernel.removesuffix(_TILED)
        names = (kernel, plain, f"{kernel}{_BY_ROWS}", plain.removesuffix(_GENERAL))
        return next((self.kernels[name] for name in names if name in self.kernels), None)


class CostTable(_Record):
    """costs.json, which benchmarks/costs.py fits to benchmarks/recorded_runs.json.

    Attributes:
        provenance: of the recorded runs.
    """

    provenance: str
    cores: Mapping[str, CoreCosts]


_TILED = "_tiled"
"""The end of the names of kernels for narrow tiles, in which loops have a few rounds."""

_GENERAL = "_general"
"""The end of the names of kernels for weights of four bits whose loops take all outputs."""

_BY_ROWS = "_rows"
"""The end of the names of kernels that go on with each row."""


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
    totals: defaultdict[str, Work] = defaultdict(Work)
    for kernel, work in work_of_steps(plan):
        totals[kernel] = totals[kernel].plus(work)
    return dict(totals)


def work_of_steps(plan: Plan) -> list[tuple[str, Work]]:
    """The family of kernels and the work of each step; stages of a stream are called in turns."""
    calls: Counter[int] = Counter()
    for index, step in enumerate(plan.steps):
        if step.stages:
            calls[index] += len(step.turns) + 1
            calls.update(index + 1 + stage for stage in step.turns)
    lanes = _AT_ONCE[plan.isa]
    steps = [_of_step(step, calls.get(index, 1), lanes) for index, step in enumerate(plan.steps)]
    if plan.isa is not Isa.MVE:
        return steps
    return [(kernel, work._replace(rectified=0)) for kernel, work in steps]  # vectors clamp all


def _of_step(step: PlanStep, calls: int, lanes: int) -> tuple[str, Work]:
    name = step.family or step.kernel
    if tiles := step.tiles or _rows_alone(step, calls):
        every = (_of_tiles(each, lanes).times(each.count) for each in tiles)
        return name + _TILED, reduce(Work.plus, every)
    return name, _work(step, calls, lanes)


def _rows_alone(step: PlanStep, calls: int) -> Sequence[TileCalls]:
    """The calls of a stage that makes too few outputs at once for its kernel, as those of a tile
    are; none for others.
    """
    rows, arguments = step.rows[1] - step.rows[0], step.typed
    if not step.elements or arguments is None:
        return ()
    if not 1 < rows == calls or not arguments.suits_more:
        return ()
    return [TileCalls(arguments, rows, 1, step.elements // rows, step.macs // rows)]


def _work(step: PlanStep, calls: int, lanes: int) -> Work:
    arguments, rows = step.typed, max(1, step.rows[1] - step.rows[0])
    moved = Work() if arguments is None else arguments.moving(rows, step.elements, lanes)
    if not step.elements:  # the last step of a node counts for all
        return moved._replace(calls=calls)
    if arguments is not None:
        work = arguments.whole(step.macs, step.elements, calls, lanes)
        return work._replace(rectified=rectified(arguments, step.elements)).plus(moved)
    return plain(step.macs, step.elements, calls, lanes)


def _of_tiles(calls: TileCalls, lanes: int) -> Work:
    if calls.arguments is None:
        return plain(calls.macs, calls.elements, 1, lanes)
    work = calls.arguments.of_tile(calls.macs, calls.elements, calls.rows, lanes)
    return work._replace(rectified=rectified(calls.arguments, calls.elements))
