"""A board, as the rest of cmbuild sees it: core, memory, and where an image's sections go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from cmcompiler.isa import Isa

if TYPE_CHECKING:
    from cmbuild.hardware.method import Flashing
    from cmbuild.launchers.base import Launcher
    from cmbuild.launchers.serial import SerialLine


class Memory(Enum):
    """What a region is for."""

    FLASH = "flash"
    """Loaded before the image runs, then only read."""
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


@dataclass(frozen=True, slots=True)
class Layout:
    """Names of the regions that the parts of an image go to.

    Attributes:
        code: instructions, and the tables they use.
        constants: the packed constants of a model.
        data: stack and variables.
        arena: all activations.
        workspace: what the kernel harness may use; the rest of the arena's region if None.
        hot: RAM that microkernels are copied to and run from; with the code if None.
    """

    code: str
    constants: str
    data: str
    arena: str
    workspace: str | None = None
    hot: str | None = None


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
        launchers: ways to execute an image, the preferred one first.
        serial: the line to a real one; None if it is only simulated.
        flash: how firmware gets onto a real one; None if it is only simulated.
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
    launchers: tuple[Launcher, ...]
    serial: SerialLine | None = None
    flash: Flashing | None = None

    def capacity(self, kind: Memory) -> int | None:
        """Bytes of all regions of a kind that images use; None for this computer."""
        if self.layout is None:
            return None
        layout = self.layout
        used = {layout.code, layout.constants, layout.data, layout.arena}
        return sum(self.regions[name].size for name in used if self.regions[name].kind is kind)

    def region_at(self, start: int, size: int) -> Region | None:
        """The region that holds these bytes."""
        return next((r for r in self.regions.values() if r.holds(start, size)), None)
