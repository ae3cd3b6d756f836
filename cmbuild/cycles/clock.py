"""How fast a board's core is clocked: [clock] of its descriptor."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cmbuild.boards.board import BoardTable


class ClockTable(BoardTable):
    """[clock]

    Attributes:
        hertz: of the core, as the board's own start-up code or its vendor sets it.
    """

    key = "clock"

    hertz: Annotated[int, Field(gt=0, le=10_000_000_000)]
