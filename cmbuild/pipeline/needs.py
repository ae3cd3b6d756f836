"""Needs of a user, for which the precision of its modules is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from cmbuild import text
from cmbuild.errors import UsageError
from cmbuild.pipeline.options import option


@dataclass(frozen=True, kw_only=True, slots=True)
class Needs:
    """Needs that the cheapest mix of precisions has to meet; `--ram-budget` counts as well then."""

    snr: float | None = option(
        "Choose the precision of each module: the fewest predicted cycles whose outputs keep so "
        "many dB of the float model's.",
        metavar="DB",
    )
    accuracy_drop: str | None = option(
        "Likewise, with the share of samples that get their label lower by no more than 0.5%.",
        metavar="SHARE",
    )
    flash_budget: str | None = option(
        "Likewise, with weights and code of at most 256K.", metavar="SIZE"
    )

    def __post_init__(self) -> None:
        if self.snr is not None and not 0 < self.snr < inf:
            raise UsageError(message=f"--snr {self.snr:g} is not a level above 0 dB")
        self.drop  # noqa: B018  # refuses what is not a share
        if self.flash_budget is not None and not text.parse_size(self.flash_budget):
            raise UsageError(
                message=f"--flash-budget {self.flash_budget!r} is not a size",
                hint="bytes, or with a unit: 262144, 256K, 1.5M",
            )

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options that are given, as on the command line."""
        given = {
            "--snr": self.snr,
            "--accuracy-drop": self.accuracy_drop,
            "--flash-budget": self.flash_budget,
        }
        return tuple(name for name, value in given.items() if value is not None)

    @property
    def drop(self) -> float | None:
        """The share of samples."""
        from cmbuild.pipeline.floats import parse_limit

        if self.accuracy_drop is None:
            return None
        return parse_limit("--accuracy-drop", self.accuracy_drop)

    @property
    def flash(self) -> int | None:
        """Bytes."""
        return None if self.flash_budget is None else text.parse_size(self.flash_budget)
