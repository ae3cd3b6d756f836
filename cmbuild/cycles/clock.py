"""How fast a board's core is clocked: [clock] of its descriptor."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cmbuild.boards.board import Board, BoardTable
from cmbuild.boards.descriptor import Size
from cmbuild.boards.memory import Memory
from cmbuild.cycles.flash import FlashAccess
from cmbuild.strictfile import Inconsistent


class ClockTable(BoardTable):
    """[clock]

    Attributes:
        hertz: of the core, as the board's own start-up code or its vendor sets it.
        wait_states: cycles that the core waits for each line from flash; None where not known.
        line: bytes that flash delivers at once.
        cache: bytes of what caches those lines; None without.
        flash: what lies between core and flash, where enough is known to model it.
    """

    key = "clock"

    hertz: Annotated[int, Field(gt=0, le=10_000_000_000)]
    wait_states: Annotated[int, Field(ge=0, le=1000)] | None = None
    line: Annotated[int, Field(ge=4, le=256)] | None = None
    cache: Size | None = None
    flash: FlashAccess | None = None

    def check(self, board: Board) -> None:
        if self.wait_states and self.line is None:
            raise Inconsistent(("line",), "missing: how many bytes wait for flash at once")
        if self.line is not None and self.line & (self.line - 1):
            raise Inconsistent(("line",), f"{self.line} is not a power of two")
        if not self.wait_states and self.cache is not None:
            raise Inconsistent(("cache",), "caches flash, whose wait_states are missing")
        if self.flash is not None:
            try:
                self.flash.check()
            except Inconsistent as error:
                raise Inconsistent(("flash", *error.key), str(error), error.hint) from error
            for key, name in self.flash.ram:
                region = board.regions.get(name)
                if region is None or region.kind is not Memory.RAM:
                    raise Inconsistent(("flash", *key), "is not a region of kind ram")

    @property
    def slowest(self) -> str:
        """The slowest settings in words: `each 16 bytes of code and each load wait 5 cycles, …`"""
        where = "without a cache" if self.cache is None else f"the cache of {self.cache:,} bytes"
        how = where if self.cache is None else f"as if {where} always missed"
        return (
            f"each {self.line} bytes of code in flash, and each load but of the stack, wait"
            f" {self.wait_states} cycles, {how}"
        )
