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
        regions: the memory that images use.
        boards: whose machines may be used.
    """
    needed = tuple(regions)
    tables = [_qemu(*found) for found in _machines(cpu, needed, boards)][:1]
    if cpu in CORES:
        tables.append(_UNICORN)
    return "\n".join(tables)


def _machines(
    cpu: str, needed: tuple[Region, ...], boards: Iterable[Board]
) -> Iterable[tuple[str, Qemu]]:
    for board in boards:
        for launcher in launchers_of(board) if board.cpu == cpu else ():
            if not isinstance(launcher, Qemu) or launcher.memory is None or launcher.caveat:
                continue
            blocks = launcher.memory
            if all(any(b.holds(r.origin, r.size) for b in blocks) for r in needed):
                yield board.name, launcher


_UNICORN = f"""\
# Unicorn has this board's memory and reads the cycle counter as the number of instructions.
[launchers.unicorn]
peripherals = [{_CYCLE_COUNTER_PAGE:#x}]
"""


def _qemu(board: str, launcher: Qemu) -> str:
    lines = [
        f"# The machine of cmbuild's {board} has this memory, but no cycle counter. To count",
        f"# instructions there, cm_board_ticks must read a timer of it, as boards/{board} does.",
        "[launchers.qemu]",
        f'machine = "{launcher.machine}"',
        f"ticks_per_second = {launcher.ticks_per_second}",
    ]
    if launcher.properties:
        lines.append(f"properties = {_inline(launcher.properties)}")
    if launcher.boots != "vectors":
        lines.append(f'boots = "{launcher.boots}"')
    blocks = (f"{{ origin = {b.origin:#x}, size = {b.size} }}" for b in launcher.memory or ())
    lines.append(f"memory = [{', '.join(blocks)}]")
    return "\n".join(lines) + "\n"


def _inline(values: Mapping[str, int]) -> str:
    pairs = (f"{json.dumps(key)} = {value}" for key, value in values.items())
    return f"{{ {', '.join(pairs)} }}"
