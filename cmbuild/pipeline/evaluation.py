"""The forms of a model side by side: float, fake-quantised, int8 reference, and device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol

from cmbuild import paths
from cmbuild.accuracy import EvalResult
from cmbuild.cache.folders import below, slug
from cmbuild.errors import Failed, UsageError
from cmbuild.pipeline.options import option
from cmbuild.pipeline.pipeline import Pipeline, build_folder
from cmbuild.pipeline.request import (
    SIMULATOR,
    BoardChoice,
    BuildRequest,
    LeastQuality,
    ModelChoice,
    RunRequest,
    Sampling,
)
from cmbuild.pipeline.stages.stage import Stage
from cmbuild.verify.faithfulness import fault_of
from cmbuild.verify.shortfall import shortfall

_MOST = 100
"""Samples that a device computes unless more are requested."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalRequest:
    """A comparison, in a folder <model>/eval of build_dir.

    Attributes:
        board: None for none.
        isa, toolchain: for the board.
        samples: `all` of the export; as many as the reference computes in some seconds if None.
        on: what stands for the board: see RunRequest.

    Raises:
        UsageError: the model is a program, which has no float model.
    """

    source: ModelChoice
    board: str | None = None
    isa: str | None = None
    toolchain: str | None = None
    samples: int | Literal["all"] | None = option("Number of samples.", least=1, words=("all",))
    on: str = SIMULATOR
    quality: LeastQuality = field(default_factory=LeastQuality)
    build_dir: Path = field(default_factory=paths.default_build)

    def __post_init__(self) -> None:
        if self.source.is_program:
            raise UsageError(
                message=f"{self.source.model} is a program, without a float model to compare"
            )

    @property
    def folder(self) -> Path:
        return below(self.build_dir.absolute(), slug(self.source.name), "eval")

    def run(self, samples: int | Literal["all"]) -> RunRequest:
        """On the board."""
        assert self.board is not None
        place = BoardChoice(board=self.board, isa=self.isa, toolchain=self.toolchain)
        build = BuildRequest(place=place, source=self.source, build_dir=self.build_dir)
        return RunRequest(build=build, sampling=Sampling(samples=samples), on=self.on)


class Perform(Protocol):
    """Performs stages and what they need, with build folders locked; raises the first failure."""

    def __call__(self, stages: Sequence[Stage], folders: Sequence[Path]) -> None: ...


def evaluate(pipeline: Pipeline, request: EvalRequest, perform: Perform) -> EvalResult:
    """
    Raises:
        UsageError: the model has no float outputs to compare.
        CmbuildError: a stage failed.
    """
    from cmbuild.verify.evaluation import compared

    board, samples = request.board, request.samples
    measured = pipeline.measured(request.source, board, request.folder, samples)
    perform([measured], [request.folder])
    if measured.real_outputs is None:
        raise UsageError(message=f"{request.source.model} has no float outputs to compare")
    mix = request.source.mix
    if board is None:
        return replace(compared(measured, None, None), mix=mix)
    run_request = request.run(samples or min(_MOST, len(measured.samples)))
    run = pipeline.simulate(run_request)
    perform([run], [build_folder(run_request.build)])
    return replace(compared(run.reference, board, run.outputs), mix=mix)


def failure_of(result: EvalResult, request: EvalRequest) -> Failed | None:
    """Why a comparison fails although all forms were computed."""
    if result.faithfulness is None:
        return None
    outputs = next(row.outputs for row in result.forms if row.form == "reference")
    return fault_of(result.faithfulness, request.folder) or shortfall(
        result.faithfulness, outputs, request.quality.min_snr
    )
