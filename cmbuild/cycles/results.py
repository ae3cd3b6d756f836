"""Cycles of an inference, as results tell them."""

from __future__ import annotations

from dataclasses import dataclass

_NAMED = 3
"""Unknown instructions to name; the others are only counted."""


@dataclass(frozen=True, slots=True)
class OpCycles:
    """Cycles of one kernel call, one inference.

    Attributes:
        title, source, kernel: as OpCount.
    """

    title: str
    source: str
    kernel: str
    cycles: int


@dataclass(frozen=True, slots=True)
class Executed:
    """Instructions of one inference, counted block by block.

    Attributes:
        per_op: empty where Cycles.per_op is.
    """

    total: int
    per_op: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SlowestCycles:
    """Cycles of one inference with all wait states of flash that a board's descriptor allows.

    Attributes:
        assumes: what makes it so slow, for people.
    """

    total: int
    milliseconds: float
    assumes: str


@dataclass(frozen=True, slots=True)
class FlashCycles:
    """Cycles of one inference with what the core waits for its flash, by a model of the chip.

    Attributes:
        clock_hz: of the core; the chip's highest where the board's own needs no wait states.
        wait_states: of flash at that clock.
        milliseconds: at that clock.
        error_percent: largest known difference from boards; None without any evidence.
        per_op: cycles of each op, in the order of Cycles.per_op.
    """

    total: int
    clock_hz: int
    wait_states: int
    milliseconds: float
    error_percent: int | None
    per_op: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Cycles:
    """Cycles of one inference by a model of the core, at zero wait states.

    Attributes:
        error_percent: largest known difference from boards; None without any evidence.
        clock_hz: of the board; None where its descriptor does not tell.
        milliseconds: at that clock.
        provenance: `model of the Cortex-M33, zero wait states`.
        per_op: empty where the run has another number of measured intervals than steps.
        unknown: instructions that ran and that the model does not know.
        slowest: None where the board's wait states are none or not known.
        with_flash: None where the board's descriptor does not describe its flash.
        without_flash: why `with_flash` is missing although it does, if so.
    """

    total: int
    error_percent: int | None
    clock_hz: int | None
    milliseconds: float | None
    provenance: str
    per_op: tuple[OpCycles, ...] = ()
    unknown: tuple[str, ...] = ()
    slowest: SlowestCycles | None = None
    with_flash: FlashCycles | None = None
    without_flash: str | None = None

    @property
    def basis(self) -> str:
        """`model of the Cortex-M33, zero wait states, ±5 %`, and what it leaves out."""
        error = "not validated" if self.error_percent is None else f"±{self.error_percent} %"
        parts = [self.provenance, error]
        if self.unknown:
            more = len(self.unknown) - _NAMED
            named = ", ".join(self.unknown[:_NAMED])
            parts.append(f"without {named}" + (f" and {more} more" if more > 0 else ""))
        return ", ".join(parts)
