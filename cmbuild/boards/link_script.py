"""Link scripts: generated from a board's regions, or the board's own, checked against them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from cmbuild import paths
from cmbuild.boards.board import Board
from cmbuild.boards.memory import Region
from cmbuild.files import fill

FILE = "link.ld"
"""In a board's folder, instead of a generated one."""

_NULL_BYTES = 4096  # as in runtime/cortexm/protect.c

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}
_NUMBER = r"(0[xX][0-9a-fA-F]{1,16}|\d{1,15})([KM]?)"


def link_script(board: Board, folder: Path, simulated: Sequence[Region]) -> Path:
    """The board's own script, or a generated one in the folder; see `render`."""
    if has_own_script(board):
        return board.folder / FILE
    script = folder / FILE
    script.write_text(render(board, simulated))
    return script


def has_own_script(board: Board) -> bool:
    """Whether the board's folder has a script, which sizes the stack."""
    return (board.folder / FILE).is_file()


def render(board: Board, simulated: Sequence[Region] = ()) -> str:
    """The script that the template yields for a board with memory.

    Args:
        simulated: the memory of its simulators, which may be less.
    """
    values = {
        "regions": board.regions.values(),
        "layout": board.layout,
        "stack": board.stack or 0,
        "workspace_end": _workspace_end(board, simulated),
        "null_in_use": _null_in_use(board),
        "baud": board.uart.baud if board.uart else None,
    }
    return fill(paths.runtime() / "cortexm" / f"{FILE}.j2", values)


def _null_in_use(board: Board) -> bool:
    """Whether a null pointer may point into an image."""
    assert board.layout is not None
    used = filter(None, board.layout.model_dump().values())
    return any(board.regions[name].origin < _NULL_BYTES for name in used)


def _workspace_end(board: Board, simulated: Sequence[Region]) -> int:
    """The end of the memory that the board and all its simulators have."""
    assert board.layout is not None
    region = board.regions[board.layout.workspace or board.layout.arena]
    ends = (r.end for r in simulated if r.origin <= region.origin < r.end)
    return min([region.end, *ends])


def disagreement(script: str, regions: Mapping[str, Region]) -> tuple[str, str] | None:
    """The first region that a board's own script lacks or places elsewhere, in words."""
    written = _memory(script)
    for name, region in regions.items():
        if name not in written:
            return name, f"{FILE} does not have this region"
        if written[name] != (region.origin, region.size):
            origin, size = written[name]
            return name, f"{FILE} has it at 0x{origin:08x} with 0x{size:x} bytes"
    return None


def _memory(script: str) -> dict[str, tuple[int, int]]:
    """Origin and size by name, where both are plain numbers."""
    block = re.search(r"\bMEMORY\s*\{([^}]*)\}", re.sub(r"/\*.*?\*/", "", script, flags=re.DOTALL))
    if block is None:
        return {}
    entry = rf"(\w+)\s*(?:\([^)]*\))?\s*:\s*ORIGIN\s*=\s*{_NUMBER}\s*,\s*LENGTH\s*=\s*{_NUMBER}"
    return {
        name: (int(origin, 0) * _UNITS[unit], int(length, 0) * _UNITS[units])
        for name, origin, unit, length, units in re.findall(entry, block[1])
    }
