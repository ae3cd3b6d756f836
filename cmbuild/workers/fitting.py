"""Which models fit which boards, asked of workers: a unit is a model on all its boards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cmbuild.boards.board import Board
from cmbuild.cache.fingerprint import fingerprint
from cmbuild.cache.folders import CacheFolder
from cmbuild.errors import CmbuildError
from cmbuild.firmware.remedies import Attempt
from cmbuild.pipeline.events import WorkStep
from cmbuild.pipeline.request import BuildRequest
from cmbuild.pipeline.session import Session
from cmbuild.sizing.estimate import Need
from cmbuild.sizing.fits import Cell, Fits
from cmbuild.sizing.results import ExportedAccuracy
from cmbuild.tasks.run import run as make
from cmbuild.text import plural
from cmbuild.workers.choice import WorkersChoice
from cmbuild.workers.distribution import perform
from cmbuild.workers.results import Answer
from cmbuild.workers.units import OpenSession, check_files, digests

Needs = tuple[tuple[Need | None, tuple[Attempt, ...], ExportedAccuracy | None, Need | None], ...]
"""For each board, what Cell holds besides the model and the board."""


@dataclass(frozen=True, slots=True)
class FitUnit:
    """A model on boards.

    Attributes:
        requests: one for each board.
        export: export the model, if the worker's cache has no program of it.
        remedied: try remedies where it does not fit.
    """

    requests: tuple[BuildRequest, ...]
    export: bool
    remedied: bool
    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, requests: Sequence[BuildRequest], export: bool, remedied: bool) -> FitUnit:
        """With the digests of the user's files as they are now."""
        return cls(tuple(requests), export, remedied, digests(requests[0].source))

    @property
    def step(self) -> WorkStep:
        model = Path(self.requests[0].source.model).name
        return WorkStep("fit", f"{model} on {plural(len(self.requests), 'board')}", "estimated")

    @property
    def key(self) -> str:
        asked = repr((self.requests, self.export, self.remedied))
        return f"fit-{fingerprint(asked=asked, files=dict(self.files))}"

    def perform(self, open_session: OpenSession) -> Answer[Needs]:
        needs: Needs = ()
        with open_session(CacheFolder.LOGS.path) as session:
            check_files(self.files)
            fits = Fits(session.pipeline)
            if self.export and (missing := fits.missing(self.requests)):
                make(session, missing, [])
            if session.failures.first is None:
                cells = [self._cell(fits, request) for request in self.requests]
                needs = tuple((c.need, c.tried, c.accuracy, c.narrow) for c in cells)
        return Answer.of(needs, session.failures.first)

    def failed(self, failure: CmbuildError) -> Answer[Needs]:
        return Answer.of(None, failure)

    def _cell(self, fits: Fits, request: BuildRequest) -> Cell:
        cell = fits.cell(request)
        return fits.remedied(cell, request) if self.remedied else cell


def fit_on_workers(
    session: Session,
    models: Sequence[Sequence[BuildRequest]],
    boards: Sequence[Board],
    choice: WorkersChoice,
    *,
    export: bool,
    remedied: bool,
) -> list[Cell]:
    """Cells in the order of models, and of boards in each.

    Args:
        models: a request for each of `boards`, for each model.

    Raises:
        CmbuildError: of the first model that failed, or see `perform`.
    """
    units = [FitUnit.of(requests, export, remedied) for requests in models]
    answers = dict(perform(session, choice, units, [()] * len(units)))
    cells = []
    for index, unit in enumerate(units):
        answer = answers[index]
        assert isinstance(answer, Answer)
        if answer.failure is not None:
            raise answer.failure
        assert answer.value is not None
        model = unit.requests[0].source.model
        cells += [
            Cell(model, board, *needs) for board, needs in zip(boards, answer.value, strict=True)
        ]
    return cells
