"""The request to copy constants to RAM."""

from __future__ import annotations

from dataclasses import dataclass

from cmbuild.pipeline.options import option

HOT = AUTO, CODE, OFF = ("auto", "code", "off")


@dataclass(frozen=True, kw_only=True, slots=True)
class Copying:
    """The parts of an image that are copied from flash to RAM."""

    hot: str = option(
        "off: read code and constants from flash; code: copy kernels alone; by default both are "
        "copied to RAM that is to spare, if the board's core waits for its flash.",
        AUTO,
        choices=HOT,
    )

    @property
    def of_code(self) -> bool:
        """Whether kernels are copied where that helps."""
        return self.hot != OFF

    @property
    def of_constants(self) -> bool:
        return self.hot == AUTO
