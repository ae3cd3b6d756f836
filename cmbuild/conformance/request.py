"""A request for a run of ExecuTorch's own tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cmbuild.discovery import listed, names
from cmbuild.launchers import simulators
from cmbuild.pipeline.options import option
from cmbuild.pipeline.request import FORCE, BoardChoice, build_dir_option


@dataclass(frozen=True, kw_only=True, slots=True)
class ConformanceRequest:
    """A run of ExecuTorch's own tests, in a folder conformance/<place> of build_dir.

    Attributes:
        jobs: how many tests to run at once.
    """

    place: BoardChoice
    launcher: str | None = option(
        f"{listed(names(simulators))}; by default the best available.", metavar="NAME"
    )
    expression: str | None = option(
        "Only tests that match, as for pytest.", name="k", metavar="EXPR"
    )
    junit: Path | None = option("Write results as JUnit XML.", metavar="FILE")
    force: bool = option(FORCE, False)
    build_dir: Path = build_dir_option()
    jobs: int = 1

    @property
    def folder(self) -> Path:
        return self.build_dir.absolute() / "conformance" / self.place.name
