"""Targets: a Cortex-M CPU and the instruction set its kernels may use."""

from __future__ import annotations

from dataclasses import dataclass

from cmcompiler.errors import InvalidRequest
from cmcompiler.isa import Isa
from cmcompiler.suggest import did_you_mean

BEST_ISA: dict[str, Isa] = {
    "cortex-m0": Isa.SCALAR,
    "cortex-m0plus": Isa.SCALAR,
    "cortex-m3": Isa.SCALAR,
    "cortex-m4": Isa.DSP,
    "cortex-m7": Isa.DSP,
    "cortex-m23": Isa.SCALAR,
    "cortex-m33": Isa.DSP,
    "cortex-m35p": Isa.DSP,
    "cortex-m52": Isa.MVE,
    "cortex-m55": Isa.MVE,
    "cortex-m85": Isa.MVE,
}
"""The best instruction set of each CPU, with all its options."""

# ExecuTorch 1.5.1 does not know the M52. What depends on the CPU in an exported program (scratch
# sizes, kernel sums) depends only on its instruction set, so the M52 can run the M55's program.
_EXPORTED_AS = {"cortex-m52": "cortex-m55"}

_LEAST = {Isa.SCALAR: "cortex-m0plus", Isa.DSP: "cortex-m4", Isa.MVE: "cortex-m55"}
"""For each instruction set, a CPU whose best one it is."""


@dataclass(frozen=True, slots=True)
class Target:
    """The core and instruction set that a program is compiled for.

    Attributes:
        cpu: one of BEST_ISA's.
        isa: the CPU's best one or a lower one.
        fpu: `double`, `single` or `none`; by default the best that the CPU can have.
            Programs and plans do not depend on it.

    Raises:
        InvalidRequest: unknown CPU, or an instruction set that it does not have.
    """

    cpu: str
    isa: Isa
    fpu: str | None = None

    def __post_init__(self) -> None:
        best = BEST_ISA.get(self.cpu)
        if best is None:
            raise InvalidRequest(f"unknown target {self.cpu}", did_you_mean(self.cpu, BEST_ISA))
        if self.isa > best:
            levels = ", ".join(isa.label for isa in Isa if isa <= best)
            raise InvalidRequest(
                f"{self.cpu} does not support {self.isa.label}", f"it has {levels}"
            )

    @classmethod
    def parse(cls, text: str, isa: str | None = None) -> Target:
        """From `cortex-m55`, and `scalar`, `dsp` or `mve` to use less than the CPU's best."""
        if isa is None:
            return cls(text, BEST_ISA.get(text, Isa.SCALAR))
        try:
            return cls(text, Isa.named(isa))
        except KeyError:
            hint = did_you_mean(isa, (level.label for level in Isa))
            raise InvalidRequest(f"unknown instruction set {isa}", hint) from None

    @property
    def exported_as(self) -> str:
        """The CPU name that ExecuTorch's Cortex-M backend uses for this one."""
        return _EXPORTED_AS.get(self.cpu, self.cpu)

    @property
    def exported_for(self) -> str:
        """The CPU to export for so that the kernels use exactly this instruction set."""
        return self.cpu if self.isa is BEST_ISA[self.cpu] else _LEAST[self.isa]

    def __str__(self) -> str:
        return self.cpu if self.isa == BEST_ISA[self.cpu] else f"{self.cpu} {self.isa.label}"
