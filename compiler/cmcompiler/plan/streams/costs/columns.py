"""What a convolution that takes some columns of its rows at once gains with more scratch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Columns(ABC):
    """As many columns of outputs as its scratch holds.

    Attributes:
        instructions: for some columns.
        each, unit, most: columns and bytes of a unit of scratch, and how many units are of use.
        width, height: of the outputs.
    """

    instructions: float
    each: int
    unit: int
    most: int
    width: int
    height: int

    @abstractmethod
    def more(self, bands: Mapping[int, int], units: int) -> float:
        """Instructions more than as a whole with all scratch that is of use.

        Args:
            bands: how often how many rows are computed at once.
        """

    def more_whole(self, units: int) -> float:
        """The same for all rows at once."""
        return self.more({self.height: 1}, units)
