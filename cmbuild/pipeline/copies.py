"""The request to copy constants to RAM."""

from __future__ import annotations

from dataclasses import dataclass

from cmbuild.pipeline.options import option

HOT = AUTO, OFF = ("auto", "off")


@dataclass(frozen=True, kw_only=True, slots=True)
class Copying:
    """The parts of an image that are copied from flash to RAM."""

    hot: str = option(
        "off: read constants from flash; by default they are copied to RAM that is to spare, if "
        "the board's core waits for its flash.",
        AUTO,
        choices=HOT,
    )

    @property
    def is_wanted(self) -> bool:
        """Whether constants are copied where that helps."""
        return self.hot == AUTO
