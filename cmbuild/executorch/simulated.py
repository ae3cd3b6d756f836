"""The board that a dry run is simulated on."""

from __future__ import annotations

from collections.abc import Iterable

from cmbuild.boards.board import Board
from cmbuild.errors import Failed
from cmbuild.launchers.registry import launchers_of
from cmbuild.toolchain.toolchains import HOST
from cmcompiler.isa import Isa


class NoSimulatedCore(Failed):
    template = (
        "no simulated board has the {cpu} of {board}, and a simulated run finds how much memory "
        "ExecuTorch's runtime allocates"
    )
    hint = "leave out --executor executorch, or add a board with this core (docs/boards.md)"


def simulated(board: Board, isa: Isa, others: Iterable[Board]) -> Board:
    """The board itself if it can be simulated, otherwise the first one with the same core.

    Args:
        isa: of the kernels.
        others: searched only if necessary.

    Raises:
        NoSimulatedCore: no such board.
    """
    if launchers_of(board):
        return board
    core = (board.cpu, board.fpu)
    for other in others:
        is_like = (other.cpu, other.fpu) == core and isa in other.isas
        if is_like and other.toolchain != HOST and launchers_of(other):
            return other
    raise NoSimulatedCore(cpu=board.cpu, board=board.name)
