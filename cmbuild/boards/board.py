"""A board as its folder describes it: core, memory, and tables that other packages read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, TypeVar

from pydantic import Field

from cmbuild.boards.memory import Layout, Memory, Region
from cmbuild.strictfile import Table
from cmcompiler.isa import Isa


class Uart(Table):
    """[serial] of a descriptor: the serial port that the runner of a real board talks over.

    Attributes:
        baud: bits a second.
        usb: vendor and product of adapters that the board is likely to be at: `2e8a:000c`.
    """

    baud: Annotated[int, Field(ge=300, le=4_000_000)]
    usb: list[Annotated[str, Field(pattern="^[0-9a-f]{4}:[0-9a-f]{4}$")]] = Field(
        default_factory=list
    )


class BoardTable(Table):
    """A table of a descriptor that another package declares and reads.

    Attributes:
        key: its name.
    """

    key: ClassVar[str]

    def check(self, board: Board) -> None:
        """Whether it makes sense with the rest of the descriptor.

        Raises:
            Inconsistent: naming the key below this table.
        """


T = TypeVar("T", bound=BoardTable)


@dataclass(frozen=True)
class Board:
    """A board.

    Attributes:
        name: of its folder.
        folder: with board.toml, board.c and the link script, if it brings its own.
        title: for people.
        cpu: the core, a key of cmcompiler.target.BEST_ISA.
        fpu: `double`, `single` or `none`; the best that the core can have if None.
        isas: instruction sets that kernels may use here, best first.
        toolchain: the default one's name.
        stack: bytes reserved for the stack; 0 where the operating system does it.
        regions: by name; empty for this computer.
        layout: where an image's parts go; None for this computer.
        uart: how a real one is talked to; None if it is only simulated.
        tables: what other packages read of the descriptor, by key.
    """

    name: str
    folder: Path
    title: str
    cpu: str
    fpu: str | None
    isas: tuple[Isa, ...]
    toolchain: str
    stack: int
    regions: Mapping[str, Region]
    layout: Layout | None
    uart: Uart | None = None
    tables: Mapping[str, BoardTable] = field(default_factory=dict)

    def capacity(self, kind: Memory) -> int | None:
        """Bytes of all regions of a kind that images use; None for this computer."""
        if self.layout is None:
            return None
        layout = self.layout
        used = {layout.code, layout.constants, layout.data, layout.arena}
        return sum(self.regions[name].size for name in used if self.regions[name].kind is kind)

    def table(self, kind: type[T]) -> T | None:
        """What the descriptor says in another package's table."""
        found = self.tables.get(kind.key)
        return found if isinstance(found, kind) else None

    def region_at(self, start: int, size: int) -> Region | None:
        """The region that holds these bytes."""
        return next((r for r in self.regions.values() if r.holds(start, size)), None)
