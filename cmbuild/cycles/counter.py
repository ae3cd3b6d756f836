"""Counts the cycles of a run on a simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild.boards.board import Board
from cmbuild.cycles.clock import ClockTable
from cmbuild.cycles.core import Core
from cmbuild.cycles.disassembly import disassemble
from cmbuild.cycles.estimate import Estimator
from cmbuild.cycles.plugin import NoCounter, block_profile
from cmbuild.cycles.profile import BrokenProfile, read_profile
from cmbuild.cycles.registry import CORES
from cmbuild.image.elf import function_addresses
from cmbuild.launchers.base import Launcher, Profiled
from cmbuild.process import Processes
from cmbuild.results import Cycles, OpCycles
from cmbuild.toolchain import tools
from cmbuild.toolchain.compilers.gcc import ARM_GCC
from cmcompiler.isa import Isa

if TYPE_CHECKING:
    from cmcompiler.plan.record import PlanRecord, StepRecord

_MARK, _ONCE = "cm_board_ticks", "cm_executor_run"
_OBJDUMP = "arm-none-eabi-objdump"


@dataclass(frozen=True, slots=True)
class Counter:
    """What counts the blocks of one image, and turns them into cycles.

    Attributes:
        launcher: with the plugin.
    """

    launcher: Launcher
    _board: Board
    _core: type[Core]
    _image: Path
    _objdump: Path
    _profile: Path

    def cycles(self, plan: PlanRecord, processes: Processes, log: Path) -> Cycles:
        """Of the first sample of the run.

        Args:
            log: gets the disassembly.

        Raises:
            NoCounter: the simulator did not write the counts.
            ProcessFailed: the image cannot be disassembled.
        """
        try:
            profile = read_profile(self._profile)
        except BrokenProfile as error:
            raise NoCounter(error) from error
        isa = Isa.named(plan.isa)
        code = disassemble(self._objdump, self._image, isa, processes, log)
        estimator = Estimator(self._core, code, profile)
        intervals = estimator.intervals()
        steps = by_step(intervals, plan.steps)
        total = round(sum(steps or intervals[::2]))
        clock = self._board.table(ClockTable)
        hertz = None if clock is None else clock.hertz
        named = zip(plan.steps, steps, strict=True) if steps else ()
        return Cycles(
            total=total,
            error_percent=self._core.evidence.error_percent,
            clock_hz=hertz,
            milliseconds=None if hertz is None else total / hertz * 1e3,
            provenance=f"model of the {core_title(self._board.cpu)}, zero wait states",
            per_op=tuple(
                OpCycles(step.title, step.source, step.kernel, round(cycles))
                for step, cycles in named
            ),
            unknown=tuple(sorted(estimator.unknown)),
        )


def by_step(intervals: Sequence[float], steps: Sequence[StepRecord]) -> list[float]:
    """The cycles of each step; none if a branch has left out some.

    Args:
        intervals: during steps and between them, in turn. Within a stream, they are before and
            during the turns of its stages.
    """
    found, at, index = [0.0] * len(steps), 0, 0
    taken = [*intervals, 0.0]
    while index < len(steps) and at < len(intervals):
        step = steps[index]
        found[index] = taken[at]
        for number, stage in enumerate(step.turns):
            turn = at + 1 + 2 * number
            if turn >= len(intervals):
                return []
            found[index + 1 + stage] += taken[turn]
            found[index] += taken[turn + 1]
        at += 2 * len(step.turns) + 2
        index += 1 + step.stages
    return found if index == len(steps) and at in (len(intervals), len(intervals) + 1) else []


def counter(
    launcher: Launcher,
    board: Board,
    image: Path,
    folder: Path,
    processes: Processes,
) -> Counter:
    """
    Args:
        folder: gets the simulator's counts.

    Raises:
        NoCounter: says why cycles cannot be counted here.
        ProcessFailed: the plugin cannot be compiled.
    """
    core = CORES.get(board.cpu)
    if core is None:
        raise NoCounter(f"no timing model of the {core_title(board.cpu)}")
    if not isinstance(launcher, Profiled):
        raise NoCounter(f"{launcher.title} does not count blocks")
    objdump = tools.find(_OBJDUMP)
    if objdump is None:
        raise NoCounter(f"{_OBJDUMP} not found; {tools.install_command(ARM_GCC)}")
    places = function_addresses(image)
    if not {_MARK, _ONCE} <= places.keys():
        raise NoCounter(f"{image.name} does not read a clock")
    profile = folder.absolute() / "blocks.txt"
    plugin = block_profile(launcher.find(), processes)
    options = {"output": profile, "mark": places[_MARK], "last": places[_ONCE]}
    words = [str(plugin), *(f"{name}={value}" for name, value in options.items())]
    # A comma separates arguments, a doubled one stands for itself.
    arguments = ",".join(word.replace(",", ",,") for word in words)
    return Counter(launcher.with_plugin(arguments), board, core, image, objdump, profile)


def core_title(cpu: str) -> str:
    """`Cortex-M0+`"""
    return cpu.title().replace("plus", "+").replace("Plus", "+")
