"""Memory regions of a board, and which parts of an image they hold."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from cmbuild.strictfile import Table


class Memory(Enum):
    """Purpose of a region."""

    FLASH = "flash"
    """Loaded before the image runs, then read-only."""
    RAM = "ram"


@dataclass(frozen=True, slots=True)
class Region:
    """A block of a board's address space.

    Attributes:
        origin: first address.
        size: bytes.
    """

    name: str
    kind: Memory
    origin: int
    size: int

    @property
    def end(self) -> int:
        """First address after the region."""
        return self.origin + self.size

    def overlaps(self, other: Region) -> bool:
        return self.origin < other.end and other.origin < self.end

    def holds(self, start: int, size: int) -> bool:
        return self.origin <= start and start + size <= self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class PartUse:
    """A part of an image: `code`, `weights`, `static`, `stack`, `arena`, `hot`."""

    name: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionUse:
    """A region of a board's memory, and what the image has in it.

    Attributes:
        kind: `flash` or `ram`.
        size: bytes.
    """

    name: str
    kind: str
    origin: int
    size: int
    parts: tuple[PartUse, ...]


class Layout(Table):
    """[sections] of a descriptor: names of the regions that the parts of an image go to.

    Attributes:
        code: instructions, and the tables they use.
        constants: the packed constants of a model.
        data: stack and variables.
        arena: all activations.
        workspace: for the kernel harness; the rest of the arena's region if None.
        hot: RAM from which microkernels run; None to run them where the code is.
        hot_kernels: RAM from which all kernels run; None to run them where the code is.
        hot_constants: RAM that the constants are copied to at start-up, that of `data`; None to
            read them where they are.
    """

    code: str
    constants: str
    data: str
    arena: str
    workspace: str | None = None
    hot: str | None = None
    hot_kernels: str | None = None
    hot_constants: str | None = None


def text_of(size: int) -> str:
    """A size as board.toml and the command line take it: `256K`, or the bytes."""
    for unit, scale in (("M", 1 << 20), ("K", 1 << 10)):
        if size and size % scale == 0:
            return f"{size // scale}{unit}"
    return str(size)
