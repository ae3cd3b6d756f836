"""Simulators for a board that none was chosen for yet: QEMU's machines of other boards, Unicorn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from cmbuild.boards.board import Board
from cmbuild.boards.memory import Region
from cmbuild.launchers.emulator import CORES
from cmbuild.launchers.registry import launchers_of
from cmbuild.launchers.simulators.qemu import Qemu

_CYCLE_COUNTER_PAGE = 0xE0001000


def launcher_tables(cpu: str, regions: Iterable[Region], boards: Iterable[Board]) -> str:
    """Tables of board.toml for simulators that have a core and memory, the preferred one first.

    Args:
        regions: the memory that images use, that with the vectors first.
        boards: whose machines may be used.
    """
    needed = tuple(regions)
    machines = _machines(cpu, needed, boards)
    tables = [_qemu(*machine, needed[0].origin) for machine in machines][:1]
    if cpu in CORES:
        tables.append(_UNICORN)
    return "\n".join(tables)


def _machines(
    cpu: str, needed: tuple[Region, ...], boards: Iterable[Board]
) -> Iterable[tuple[Board, Qemu]]:
    for board in boards:
        for launcher in launchers_of(board) if board.cpu == cpu else ():
            if not isinstance(launcher, Qemu) or launcher.memory is None or launcher.caveat:
                continue
            blocks = launcher.memory
            if all(any(b.holds(r.origin, r.size) for b in blocks) for r in needed):
                yield board, launcher


_UNICORN = f"""\
# Unicorn has this board's memory and reads the cycle counter as the number of instructions.
[launchers.unicorn]
peripherals = [{_CYCLE_COUNTER_PAGE:#x}]
"""


def _qemu(board: Board, launcher: Qemu, vectors: int) -> str:
    """Args:
    vectors: where images have them. The core reads them where the machine's own board has its
        code; images with vectors elsewhere begin at their entry point.
    """
    name, layout = board.name, board.layout
    own = layout is not None and board.regions[layout.code].origin == vectors
    boots = launcher.boots if own else "entry"
    lines = [
        f"# The machine of cmbuild's {name} has this memory, but no cycle counter. To count",
        f"# instructions there, cm_board_ticks must read a timer of it, as boards/{name} does.",
        "[launchers.qemu]",
        f'machine = "{launcher.machine}"',
        f"ticks_per_second = {launcher.ticks_per_second}",
    ]
    if launcher.properties:
        lines.append(f"properties = {_inline(launcher.properties)}")
    if boots != "vectors":
        lines.append(f'boots = "{boots}"')
    blocks = (f"{{ origin = {b.origin:#x}, size = {b.size} }}" for b in launcher.memory or ())
    lines.append(f"memory = [{', '.join(blocks)}]")
    return "\n".join(lines) + "\n"


def _inline(values: Mapping[str, int]) -> str:
    pairs = (f"{json.dumps(key)} = {value}" for key, value in values.items())
    return f"{{ {', '.join(pairs)} }}"
