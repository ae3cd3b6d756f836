"""Unicorn: a core and a board's exact memory, and no peripherals but the core's cycle counter."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field

from cmbuild.boards.board import Board
from cmbuild.boards.descriptor import Address
from cmbuild.boards.memory import Region
from cmbuild.launchers.base import (
    BlockCounts,
    LauncherMissing,
    LauncherTable,
    Profiled,
    caveat_of,
)
from cmbuild.launchers.emulator import (
    CORES,
    CYCLE_COUNTER,
    STAND_INS,
    TRACE_UNIT,
    TRACE_UNIT_BYTES,
)
from cmbuild.strictfile import Inconsistent
from cmcompiler.installation import pip_command

_PAGE = 1024


@dataclass(frozen=True, slots=True)
class Unicorn(Profiled):
    """cmbuild.launchers.emulator.

    Attributes:
        core: one of its CORES.
        regions: the board's.
        peripherals: addresses of registers that the board's code uses, modelled as plain memory.
        counts: of blocks, if they are wanted.
    """

    name = "unicorn"

    core: str
    regions: tuple[Region, ...]
    peripherals: tuple[int, ...] = ()
    counts: BlockCounts | None = None
    caveat: str | None = None

    @property
    def title(self) -> str:
        return ", ".join(filter(None, ["Unicorn", self.caveat]))

    @property
    def memory(self) -> Sequence[Region]:
        return self.regions

    @property
    def provenance(self) -> str:
        return "counted by Unicorn" if self._counts else "not counted"

    def instructions(self, ticks: int) -> int | None:
        """The modelled cycle counter counts instructions; nothing else counts."""
        return ticks if self._counts else None

    @property
    def _counts(self) -> bool:
        return any(place // _PAGE == CYCLE_COUNTER // _PAGE for place in self.peripherals)

    def find(self) -> Path:
        if importlib.util.find_spec("unicorn") is None:
            raise LauncherMissing(launcher="unicorn", hint=pip_command("unicorn"))
        return Path(sys.executable)

    def command(self, program: Path, image: Path, folder: Path, timeout: float) -> list[str]:
        places = [(region.origin, region.size) for region in self.regions]
        places += [(address, 1) for address in self.peripherals]
        if self._counts:
            places.append((TRACE_UNIT, TRACE_UNIT_BYTES))
        memory = [w for place in places for w in ("--memory", *map(str, place))]
        core = ("--core", self.core)
        words = [str(program), "-m", "cmbuild.launchers.emulator", *core, *memory]
        if self.counts is not None:
            wanted = self.counts
            words += ["--blocks", str(wanted.output), str(wanted.mark), str(wanted.last)]
            if wanted.library is not None and wanted.chip is not None:
                words += ["--flash", str(wanted.library), wanted.chip]
        return [*words, str(image)]

    def counting(self, counts: BlockCounts) -> Unicorn:
        return replace(self, counts=counts)

    def environment(self) -> Mapping[str, str]:
        """The child runs in another folder, where relative entries would lead elsewhere."""
        return {"PYTHONPATH": os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)}


class UnicornTable(LauncherTable):
    """Unicorn, with the board's memory, for Cortex-M0, M0+, M3, M4, M7, M33, and for M23 and
    M35P on its M33; it counts instructions and cycles, which board code can read if `peripherals`
    has the address of the core's cycle counter, 0xe0001000.

    Attributes:
        peripherals: addresses of registers that the board's code uses, modelled as plain memory.
    """

    peripherals: list[Address] = Field(default_factory=list)

    def check(self, board: Board) -> None:
        if board.cpu not in CORES:
            raise Inconsistent((), f"Unicorn does not have {board.cpu}")

    def launcher(self, board: Board) -> Unicorn:
        regions, model = tuple(board.regions.values()), STAND_INS.get(board.cpu)
        caveat = None if model is None else caveat_of(board.cpu, model)
        return Unicorn(board.cpu, regions, tuple(self.peripherals), caveat=caveat)


TABLE = UnicornTable
