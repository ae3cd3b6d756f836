"""Limits of a plan's memory and time."""

from __future__ import annotations

from dataclasses import dataclass

MOST_SURCHARGE = 0.03
"""Share of a program's instructions that streams may add to whole tensors, by default."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How a plan uses memory.

    Attributes:
        streams: whether ops may run in turns, a few rows each, where that saves memory; those that
            take the rows of fed inputs always do.
        feed: `whole` or `rows`, how inputs come and outputs go; None for the better of both;
            `again` for rows of which some columns come more than once.
        budget: bytes of arena, for the fastest plan that fits; None for the smallest arena.
        wide: convolutions and linear layers have weights of int16 on cores with the DSP extension.
        surcharge: of the instructions, roughly, that the latter may add.
    """

    streams: bool = True
    feed: str | None = "whole"
    budget: int | None = None
    wide: bool = False
    surcharge: float = MOST_SURCHARGE

    @property
    def by_rows(self) -> bool:
        """Whether no input may be whole."""
        return self.feed not in (None, "whole")


SMALLEST = PlanOptions()
"""Whole inputs, and the smallest arena."""
