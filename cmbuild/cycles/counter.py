"""Counts the cycles of a run on a simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild.boards.board import Board
from cmbuild.boards.memory import Memory
from cmbuild.cache.store import Entry
from cmbuild.cycles.clock import ClockTable
from cmbuild.cycles.core import Core
from cmbuild.cycles.estimate import executed
from cmbuild.cycles.fetches import flash_of
from cmbuild.cycles.flash import FlashModel
from cmbuild.cycles.intervals import Intervals, intervals
from cmbuild.cycles.plugin import NoCounter, block_profile, flash_reads
from cmbuild.cycles.profile import BrokenProfile, read_profile
from cmbuild.cycles.registry import timing_model
from cmbuild.cycles.results import Cycles, Executed, FlashCycles, OpCycles, SlowestCycles
from cmbuild.errors import ProcessFailed, TimedOut
from cmbuild.image.record import ImageRecord
from cmbuild.launchers.base import BlockCounts, Launcher, Profiled
from cmbuild.process import Processes
from cmbuild.toolchain import tools
from cmbuild.toolchain.compilers.gcc import ARM_GCC
from cmcompiler.ir.op import OUTSIDE

if TYPE_CHECKING:
    from cmcompiler.plan.record import PlanRecord, StepRecord

_MARK, _ONCE = "cm_board_ticks", "cm_executor_run"
_TURN_READINGS = 48
"""Clock readings before the first step of a plan with streams, to measure what timing a turn takes:
runtime/runner/static_executor.c."""

PROFILE = "blocks.txt"
_OBJDUMP = "arm-none-eabi-objdump"


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts the blocks of one image, and turns them into cycles.

    Attributes:
        launcher: the one that counts.
        uncounted_flash: why reads of flash are not counted although the board describes it, if so.
    """

    launcher: Launcher
    _board: Board
    _core: type[Core] | None
    _image: Path
    _objdump: Path | None
    _profile: Path
    uncounted_flash: str | None = None

    @property
    def uncounted(self) -> str | None:
        """Why only instructions are counted, if so."""
        if self._core is None:
            return f"no timing model of the {core_title(self._board.cpu)}"
        if self._objdump is None:
            return f"{_OBJDUMP} not found; {tools.install_command(ARM_GCC)}"
        return None

    def counts(
        self, plan: PlanRecord, processes: Processes, kept: Entry
    ) -> tuple[Cycles | None, Executed]:
        """Cycles and instructions of the first sample of the run.

        Args:
            kept: holds those of the last run.

        Raises:
            NoCounter: the simulator did not write the counts, or the image cannot be disassembled.
        """
        if self._core is None or self._objdump is None:
            try:
                profile = read_profile(self._profile)
            except BrokenProfile as error:
                raise NoCounter(error) from error
            return None, _executed(executed(profile, readings_before(plan.steps)), plan.steps)
        try:
            measured = intervals(
                self._core,
                self._image,
                self._profile,
                objdump=self._objdump,
                processes=processes,
                kept=kept,
                flash=flash_of(self._board),
                model=flash_model(self._board),
                more=readings_before(plan.steps),
            )
        except (BrokenProfile, ProcessFailed, TimedOut) as error:
            raise NoCounter(error) from error
        steps = by_step(measured.cycles, plan.steps)
        total = round(sum(steps or measured.cycles[::2]))
        clock = self._board.table(ClockTable)
        hertz = None if clock is None else clock.hertz
        named = zip(plan.steps, steps, strict=True) if steps else ()
        cycles = Cycles(
            total=total,
            error_percent=self._core.evidence.error_percent,
            clock_hz=hertz,
            milliseconds=None if hertz is None else total / hertz * 1e3,
            provenance=f"model of the {core_title(self._board.cpu)}, zero wait states",
            per_op=tuple(
                OpCycles(step.title, step.source, step.kernel, round(cycles))
                for step, cycles in named
            ),
            unknown=measured.unknown,
            slowest=None if clock is None else _slowest(clock, total, measured, plan.steps),
            with_flash=_with_flash(self._board, measured, plan.steps),
            without_flash=self.uncounted_flash,
        )
        return cycles, _executed(measured.instructions, plan.steps)


def _executed(instructions: Sequence[float], steps: Sequence[StepRecord]) -> Executed:
    """Instructions of a run by those of its intervals."""
    counted = by_step(instructions, steps)
    return Executed(round(sum(counted or instructions[::2])), tuple(map(round, counted)))


def readings_before(steps: Sequence[StepRecord]) -> int:
    """Number of clock readings before the first step, besides those that measure its cost."""
    return _TURN_READINGS if any(step.stages for step in steps) else 0


def _slowest(
    clock: ClockTable, total: int, measured: Intervals, steps: Sequence[StepRecord]
) -> SlowestCycles | None:
    """With the wait states of flash, where those are known."""
    if not clock.wait_states or not measured.fetches:
        return None
    fetches = sum(by_step(measured.fetches, steps) or measured.fetches[::2])
    slowest = total + round(fetches * clock.wait_states)
    return SlowestCycles(slowest, slowest / clock.hertz * 1e3, clock.slowest)


def flash_model(board: Board) -> FlashModel | None:
    """None where the board's descriptor does not describe its flash."""
    clock = board.table(ClockTable)
    return None if clock is None or clock.flash is None else clock.flash.at(clock.hertz)


def _with_flash(
    board: Board, measured: Intervals, steps: Sequence[StepRecord]
) -> FlashCycles | None:
    model = flash_model(board)
    if model is None or not measured.with_flash:
        return None
    by_op = by_step(measured.with_flash, steps)
    total = round(sum(by_op or measured.with_flash[::2]))
    return FlashCycles(
        total=total,
        clock_hz=model.hertz,
        wait_states=model.wait_states,
        milliseconds=total / model.hertz * 1e3,
        error_percent=model.table.error_percent,
        per_op=tuple(map(round, by_op)),
    )


def by_step(intervals: Sequence[float], steps: Sequence[StepRecord]) -> list[float]:
    """The cycles of each step; none if a branch has left out some.

    Args:
        intervals: during steps and between them, in turn. Within a stream, they are before and
            during the turns of its stages.
    """
    taken = [*intervals, 0.0]
    return [sum((taken[at] for at in places), 0.0) for places in places_of(len(intervals), steps)]


def places_of(count: int, steps: Sequence[StepRecord]) -> list[list[int]]:
    """The indices of each step's intervals among `count`, which they may exceed by one; none if a
    branch has left out some steps.
    """
    places: list[list[int]] = [[] for _ in steps]
    at = index = 0
    while index < len(steps) and at < count:
        step = steps[index]
        places[index].append(at)
        for number, stage in enumerate(step.turns):
            turn = at + 1 + 2 * number
            if turn >= count:
                return []
            if steps[index + 1 + stage].kernel not in OUTSIDE:  # else the host took it
                places[index + 1 + stage].append(turn)
            places[index].append(turn + 1)
        at += 2 * len(step.turns) + 2
        index += 1 + step.stages
    return places if index == len(steps) and at in (count, count + 1) else []


def counter(
    launcher: Launcher,
    board: Board,
    image: Path,
    record: ImageRecord,
    *,
    folder: Path,
    processes: Processes,
) -> Counter:
    """
    Args:
        record: of the image.
        folder: gets the simulator's counts.

    Raises:
        NoCounter: says why nothing can be counted here.
    """
    if not isinstance(launcher, Profiled):
        raise NoCounter(f"{launcher.title} does not count blocks")
    places = record.functions
    if not {_MARK, _ONCE} <= places.keys():
        raise NoCounter(f"{image.name} does not read a clock")
    profile = folder.absolute() / PROFILE
    library = block_profile(launcher.find(), processes) if launcher.loads_plugin else None
    chip, unflashed = _chip(board), None
    if chip is not None and library is None:
        try:
            library = flash_reads(processes)
        except NoCounter as error:
            chip, unflashed = None, error.reason
    counts = BlockCounts(profile, places[_MARK], places[_ONCE], library, chip)
    core, objdump = timing_model(board.cpu), tools.find(_OBJDUMP)
    return Counter(launcher.counting(counts), board, core, image, objdump, profile, unflashed)


def _chip(board: Board) -> str | None:
    """The board's flash as runtime/tools/flash_reads.h takes it."""
    model, layout = flash_model(board), board.layout
    if model is None or layout is None:
        return None
    places = (board.regions[name] for name in (layout.code, layout.constants))
    region = next((each for each in places if each.kind is Memory.FLASH), None)
    ram = model.table.cached_ram
    return None if region is None else model.chip(region, board.regions[ram] if ram else None)


def core_title(cpu: str) -> str:
    """`Cortex-M0+`"""
    return cpu.title().replace("plus", "+").replace("Plus", "+")
