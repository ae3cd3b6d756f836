"""Simulators for a board that none was chosen for yet: QEMU's machines of other boards, Unicorn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from cmbuild.boards.board import Board
from cmbuild.boards.memory import Memory, Region
from cmbuild.launchers.base import caveat_of
from cmbuild.launchers.emulator import CORES, CYCLE_COUNTER
from cmbuild.launchers.registry import launchers_of
from cmbuild.launchers.simulators.qemu import Qemu

_STAND_INS = {"cortex-m52": "cortex-m55", "cortex-m85": "cortex-m55"}
"""Cores that QEMU lacks, and the model that executes all of their instructions."""

_UNICORN = f"""\
# Unicorn has this board's memory and reads the cycle counter as the number of instructions.
[launchers.unicorn]
peripherals = [{CYCLE_COUNTER & ~0xFFF:#x}]
"""


@dataclass(frozen=True, slots=True)
class _Machine:
    """A machine of QEMU for a board.

    Attributes:
        owner: the board of cmbuild's that describes it.
        moves: see Launcher; those of the board's regions that the machine lacks.
        caveat: how it differs from the board.
    """

    owner: Board
    launcher: Qemu
    moves: Mapping[str, int]
    caveat: str | None

    def table(self, vectors: int) -> str:
        """
        Args:
            vectors: where images have them. The core reads them where the machine's own board has
                its code; images with vectors elsewhere begin at their entry point.
        """
        name, layout, launcher = self.owner.name, self.owner.layout, self.launcher
        own = layout is not None and self.owner.regions[layout.code].origin == vectors
        boots = launcher.boots if own and not self.moves else "entry"
        memory = "has this memory, but" if not self.moves else "has other memory, and"
        lines = [
            f"# The machine of cmbuild's {name} {memory} no cycle counter. To count",
            f"# instructions there, cm_board_ticks must read a timer of it, as boards/{name} does.",
            "[launchers.qemu]",
            f'machine = "{launcher.machine}"',
            f"ticks_per_second = {launcher.ticks_per_second}",
        ]
        if launcher.properties:
            lines.append(f"properties = {_inline(launcher.properties)}")
        if boots != "vectors":
            lines.append(f'boots = "{boots}"')
        if self.caveat is not None:
            lines.append(f'caveat = "{self.caveat}"')
        blocks = (f"{{ origin = {b.origin:#x}, size = {b.size} }}" for b in launcher.memory or ())
        lines.append(f"memory = [{', '.join(blocks)}]")
        if self.moves:
            places = (f"{name} = {origin:#010x}" for name, origin in self.moves.items())
            lines.append(f"moves = {{ {', '.join(places)} }}")
        return "\n".join(lines) + "\n"


def launcher_tables(cpu: str, regions: Iterable[Region], boards: Iterable[Board]) -> str:
    """Tables of board.toml for simulators that have a core and memory, the preferred one first.

    Args:
        regions: the memory that images use, that with the vectors first.
        boards: whose machines may be used.
    """
    needed = tuple(regions)
    machines = _machines(cpu, needed, tuple(boards))
    tables = [machine.table(needed[0].origin) for machine in machines][:1]
    if cpu in CORES:
        tables.append(_UNICORN)
    return "\n".join(tables)


def _machines(
    cpu: str, needed: tuple[Region, ...], boards: tuple[Board, ...]
) -> Iterator[_Machine]:
    """Machines with the board's memory; if there are none, and Unicorn lacks the core, those that
    have as much of it elsewhere.
    """
    model = _STAND_INS.get(cpu, cpu)
    caveat = None if model == cpu else caveat_of(cpu, model)
    known = [
        (board, launcher, launcher.memory)
        for board in boards
        for launcher in (launchers_of(board) if board.cpu == model else ())
        if isinstance(launcher, Qemu) and launcher.memory is not None and launcher.caveat is None
    ]
    for board, launcher, blocks in known:
        if all(any(b.holds(r.origin, r.size) for b in blocks) for r in needed):
            yield _Machine(board, launcher, {}, caveat)
    for board, launcher, _ in known if cpu not in CORES else ():
        if moves := _moves(needed, board):
            elsewhere = "linked for its memory"
            yield _Machine(board, launcher, moves, ", ".join(filter(None, (caveat, elsewhere))))


def _moves(needed: tuple[Region, ...], owner: Board) -> Mapping[str, int]:
    """Regions of a machine's own board for others: the smallest that holds each, flash for flash
    while there is some; none if one does not fit.
    """
    free = sorted(owner.regions.values(), key=lambda region: region.size)
    moves: dict[str, int] = {}
    for region in needed:
        large = [place for place in free if place.size >= region.size]
        if region.kind is Memory.FLASH:
            large.sort(key=lambda place: place.kind is not Memory.FLASH)
        else:
            large = [place for place in large if place.kind is Memory.RAM]
        if not large:
            return {}
        moves[region.name] = large[0].origin
        free.remove(large[0])
    return moves


def _inline(values: Mapping[str, int]) -> str:
    pairs = (f"{json.dumps(key)} = {value}" for key, value in values.items())
    return f"{{ {', '.join(pairs)} }}"
