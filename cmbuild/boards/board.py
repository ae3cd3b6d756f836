"""A board as its folder describes it: core, memory, and tables that other packages read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar, TypeVar

from pydantic import Field

from cmbuild.boards.memory import Layout, Memory, Region
from cmbuild.strictfile import Table
from cmcompiler.isa import Isa


class Uart(Table):
    """[serial] of a descriptor: the serial port of a real board's runner.

    Attributes:
        baud: bits a second.
        usb: vendor and product of the board's usual adapters: `2e8a:000c`.
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
        """Checks it against the rest of the descriptor.

        Raises:
            Inconsistent: naming the key below this table.
        """


T = TypeVar("T", bound=BoardTable)

_LEAST_STACK, _MOST_STACK = 1536, 4 << 10


@dataclass(frozen=True)
class Board:
    """A board.

    Attributes:
        name: of its folder.
        folder: with board.toml, board.c and the link script, if it has its own.
        title: for people.
        note: what people should know beside its figures, if anything.
        cpu: the core, a key of cmcompiler.target.BEST_ISA.
        fpu: `double`, `single` or `none`; None for the core's best.
        isas: instruction sets that kernels may use, best first.
        toolchain: the default one's name.
        stack: bytes reserved for the stack; None if each image has as many as it needs; 0 if the
            operating system provides it.
        regions: by name; empty for this computer.
        layout: where an image's parts go; None for this computer.
        uart: the serial port of a real one; None if it is only simulated.
        tables: the descriptor's tables of other packages, by key.
    """

    name: str
    folder: Path
    title: str
    cpu: str
    fpu: str | None
    isas: tuple[Isa, ...]
    toolchain: str
    stack: int | None
    regions: Mapping[str, Region]
    layout: Layout | None
    uart: Uart | None = None
    note: str | None = None
    tables: Mapping[str, BoardTable] = field(default_factory=dict)

    def capacity(self, kind: Memory) -> int | None:
        """Bytes of all regions of a kind that images use; None for this computer."""
        if self.layout is None:
            return None
        layout = self.layout
        used = {layout.code, layout.constants, layout.data, layout.arena}
        return sum(self.regions[name].size for name in used if self.regions[name].kind is kind)

    @property
    def assumed_stack(self) -> int:
        """Bytes reserved for the stack; if each image has as many as it needs, more than any
        network of the zoo does, but no more than a quarter of the RAM, or of a small one three
        eighths.
        """
        if self.stack is not None or self.layout is None:
            return self.stack or 0
        ram = self.regions[self.layout.data].size
        least = min(_LEAST_STACK, ram * 3 // 8)
        return min(_MOST_STACK, max(least, ram // 4)) // 8 * 8

    def moved(self, origins: Mapping[str, int]) -> Board:
        """The board with some regions at other addresses, by name."""
        regions = {
            name: replace(region, origin=origins.get(name, region.origin))
            for name, region in self.regions.items()
        }
        return replace(self, regions=regions)

    def table(self, kind: type[T]) -> T | None:
        """Another package's table of the descriptor."""
        table = self.tables.get(kind.key)
        return table if isinstance(table, kind) else None

    def region_at(self, start: int, size: int) -> Region | None:
        """The region that contains these bytes."""
        return next((r for r in self.regions.values() if r.holds(start, size)), None)
