"""Instruction sets, and the microkernels written for them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Isa(IntEnum):
    """An instruction set of the kernels; a higher one also runs code for the lower ones."""

    SCALAR = 0
    """Armv6-M and up: no unaligned access, no hardware divide assumed."""
    DSP = 1
    """Armv7E-M, and Armv8-M Mainline with the DSP extension."""
    MVE = 2
    """Armv8.1-M Mainline with integer Helium."""

    @property
    def label(self) -> str:
        return self.name.lower()

    @classmethod
    def named(cls, name: str) -> Isa:
        """Raises KeyError for an unknown name."""
        return cls[name.upper()]


@dataclass(frozen=True, slots=True)
class Microkernel:
    """The inner loop of kernels: a C file of this name below runtime/isa/ for each version.

    Attributes:
        dsp, mve: the instruction set has its own version; runtime/isa/scalar has every microkernel.
    """

    name: str
    dsp: bool = False
    mve: bool = False

    def provider(self, isa: Isa) -> Isa:
        """The instruction set whose version is linked for a core with `isa`."""
        if self.mve and isa is Isa.MVE:
            return Isa.MVE
        return Isa.DSP if self.dsp and isa is not Isa.SCALAR else Isa.SCALAR
