"""The interface of a core's timing model: instructions go in, a clock advances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from cmbuild.cycles.instruction import Instruction


@dataclass(frozen=True, slots=True)
class Evidence:
    """How far a model can be trusted.

    Attributes:
        error_percent: the largest difference from cycles measured on boards; None where nobody
            published any.
        summary: for people.
    """

    error_percent: int | None
    summary: str


class Core(ABC):
    """A scoreboard of one core, at zero wait states.

    Attributes:
        clock: cycles so far.
    """

    evidence: ClassVar[Evidence]

    architecture: ClassVar[str | None] = None
    """As objdump has to be told, which else takes newer instructions for undefined ones."""

    misprediction: ClassVar[float] = 0
    """Cycles that a mispredicted conditional branch costs."""

    def __init__(self) -> None:
        self.clock = 0.0

    @abstractmethod
    def issue(
        self, instruction: Instruction, is_taken: bool, following: Instruction | None
    ) -> None:
        """Advances the clock by an instruction.

        Args:
            is_taken: execution continues elsewhere after it.
            following: what is executed next, where `is_taken`.
        """


def refill_is_split(is_taken: bool, following: Instruction | None) -> bool:
    """Whether a branch leads to a wide instruction that crosses a word, which is fetched twice."""
    return is_taken and following is not None and following.is_wide and following.address & 2 != 0
