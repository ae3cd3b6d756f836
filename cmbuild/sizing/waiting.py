"""Predicts what a core waits for its flash, from a table of what kernels read of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from cmbuild.boards.board import Board
from cmbuild.cycles.clock import ClockTable
from cmbuild.cycles.flash import FlashAccess, FlashModel
from cmbuild.cycles.profile import FlashCounts
from cmbuild.pipeline.copies import Copying
from cmbuild.pipeline.copying import hot_steps, placed
from cmbuild.sizing.prediction import known_costs, work_of_steps
from cmbuild.sizing.results import PredictedCycles, PredictedFlash
from cmcompiler.emit.recording import constants_of_steps
from cmcompiler.ir.work import Work

if TYPE_CHECKING:
    from cmcompiler.plan.plan import Plan

READS = Path(__file__).with_name("flash.json")

_WORD = 4


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KernelReads(_Record):
    """Counts of FlashCounts for one of each kind of work of a kernel. Misses of constants follow
    from the bytes of these.
    """

    lines: Work = Work()
    prefetched: Work = Work()
    code_misses: Work = Work()
    reads: Work = Work()
    conflicts: Work = Work()
    ram_misses: Work = Work()


class ChipReads(_Record):
    """Reads of one kind of flash by one core.

    Attributes:
        error_percent: the largest difference of cycles with flash from recorded runs, if cycles of
            the core are known.
        kernels: by the start of their names; the longest that fits counts.
    """

    error_percent: int
    kernels: Mapping[str, KernelReads]

    def of(self, kernel: str) -> KernelReads | None:
        """None for a kernel that no recorded run has called."""
        names = sorted(self.kernels, key=len, reverse=True)
        return next((self.kernels[name] for name in names if kernel.startswith(name)), None)


class ReadsTable(_Record):
    """flash.json, which benchmarks/flash_reads.py fits to runs.

    Attributes:
        chips: by `chip_key`.
    """

    provenance: str
    chips: Mapping[str, ChipReads]


@cache
def known_reads() -> ReadsTable:
    return ReadsTable.model_validate_json(READS.read_bytes())


def chip_key(cpu: str, fpu: str | None, flash: FlashAccess) -> str:
    """Names what counts of a flash depend on: the core, whose kernels its FPU chooses, too, and
    what lies between.
    """
    sizes = (flash.code_cache, flash.code_ways, flash.data_cache, flash.data_ways)
    facts = (flash.line, flash.prefetch, flash.shared, *sizes, flash.cached_ram is not None)
    return " ".join([cpu, fpu or "best", ":".join(str(int(fact or 0)) for fact in facts)])


@dataclass(frozen=True, slots=True)
class StepWork:
    """The work of a step.

    Attributes:
        kernel: without `cm_`.
        family: of kernels, by which cycles are known.
        constants: bytes of those that no step before it reads.
    """

    kernel: str
    family: str
    work: Work
    constants: int

    @classmethod
    def of_plan(cls, plan: Plan) -> tuple[StepWork, ...]:
        parts = zip(plan.steps, work_of_steps(plan), constants_of_steps(plan), strict=True)
        return tuple(cls(step.kernel, *work, size) for step, work, size in parts)


@dataclass(frozen=True, slots=True)
class HotParts:
    """The parts of a program that are in RAM.

    Attributes:
        kernels: all of them.
        steps: the first ones, with their constants.
    """

    kernels: bool = False
    steps: int = 0


def hot_parts(
    board: Board, copying: Copying, steps: Sequence[StepWork], constants: int, arena: int
) -> HotParts:
    """The parts that a run on a board has in RAM.

    Args:
        constants, arena: bytes of a program.
    """
    if not copying.of_code:
        own = board.layout
        return HotParts(own is not None and own.hot_kernels is not None)
    layout = placed(board, constants if copying.of_constants else 0, arena).layout
    if layout is None:
        return HotParts()
    kernels = layout.hot_kernels is not None
    if layout.hot_constants is not None:
        return HotParts(kernels, len(steps))
    if not copying.of_constants:
        return HotParts(kernels)
    sizes = [step.constants for step in steps]
    some = hot_steps(placed(board, constants, arena), constants=sizes, arena=arena)
    return HotParts(kernels, 0 if some is None else some.count)


def with_flash(
    board: Board, cycles: PredictedCycles, steps: Sequence[StepWork], hot: HotParts
) -> PredictedCycles:
    """The cycles with those that the core waits for its flash, where reads are known.

    Args:
        cycles: of the steps, at zero wait states.
    """
    clock, costs = board.table(ClockTable), known_costs().cores.get(board.cpu)
    if clock is None or clock.flash is None or costs is None or not steps:
        return cycles
    reads = known_reads().chips.get(chip_key(board.cpu, board.fpu, clock.flash))
    if reads is None:
        return cycles
    model, total = clock.flash.at(clock.hertz), 0.0
    for index, step in enumerate(steps):
        counts = _counts(step, reads, model.table, hot.kernels, index < hot.steps)
        core = costs.cycles({step.family: step.work})
        if counts is None or core is None:
            return cycles
        total += model.cycles(core, counts)
    predicted = PredictedFlash(
        total=round(total),
        clock_hz=model.hertz,
        wait_states=model.wait_states,
        milliseconds=total / model.hertz * 1e3,
        error_percent=cycles.error_percent + reads.error_percent,
    )
    return replace(cycles, with_flash=predicted)


def step_cycles(step: StepWork, core: float, reads: ChipReads, model: FlashModel) -> float | None:
    """Cycles of a step that reads all from flash; None for an unknown kernel.

    Args:
        core: its cycles at zero wait states.
    """
    counts = _counts(step, reads, model.table, False, False)
    return None if counts is None else model.cycles(core, counts)


def _counts(
    step: StepWork, reads: ChipReads, flash: FlashAccess, hot_code: bool, hot_constants: bool
) -> FlashCounts | None:
    prices = reads.of(step.kernel)
    if prices is None:
        return None
    work = step.work
    loads = 0.0 if hot_constants else work.at(prices.reads)
    return FlashCounts(
        lines=round(0.0 if hot_code else work.at(prices.lines)),
        prefetched=round(0.0 if hot_code else work.at(prices.prefetched)),
        code_misses=round(0.0 if hot_code else work.at(prices.code_misses)),
        reads=round(loads),
        data_misses=round(_misses(step, loads, flash)),
        conflicts=round(0.0 if hot_code or hot_constants else work.at(prices.conflicts)),
        ram_misses=round(work.at(prices.ram_misses)),
    )


def _misses(step: StepWork, reads: float, flash: FlashAccess) -> float:
    """Reads of constants that miss the cache: each line once if all have room, else in each sweep,
    which reads words.
    """
    cache = flash.code_cache if flash.shared else flash.data_cache
    if not cache:
        return reads
    lines = step.constants / flash.line
    if step.constants > cache:
        lines = max(lines, reads * _WORD / flash.line)
    return min(reads, lines)
