"""A chip: its core and memory."""

from __future__ import annotations

from dataclasses import dataclass

from cmbuild.boards.memory import Memory, Region


@dataclass(frozen=True, slots=True)
class Chip:
    """A microcontroller by its vendor's name.

    Attributes:
        fpu: `double`, `single`, `none`, or None for the core's best.
        flash: where images lie; its size is 0 if the flash is a chip of its own on the board.
        ram: the largest region first.
    """

    name: str
    cpu: str
    fpu: str | None
    flash: Region
    ram: tuple[Region, ...]

    @property
    def has_flash(self) -> bool:
        """Whether the flash is within the chip, so that its size is known."""
        return self.flash.size > 0

    @property
    def facts(self) -> tuple[object, ...]:
        """All but the name: packages of a chip agree in these."""
        return self.cpu, self.fpu, self.flash, self.ram


def ram(number: int, origin: int, size: int) -> Region:
    """The regions of RAM are called ram, ram2, ram3 …, the largest first."""
    return Region("ram" if number == 1 else f"ram{number}", Memory.RAM, origin, size)
