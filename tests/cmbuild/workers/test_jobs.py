"""Units that are given up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from cmbuild.errors import CmbuildError
from cmbuild.workers.jobs import ATTEMPTS, WorkersDied
from cmbuild.workers.results import Answer


def test_a_unit_that_kills_its_workers_fails_with_their_number() -> None:
    def failed(failure: CmbuildError) -> Answer[None]:
        return Answer.of(None, failure)

    unit: Any = SimpleNamespace(step=SimpleNamespace(subject="mv2 on native"), failed=failed)
    outcome = WorkersDied.outcome(unit, ATTEMPTS)
    assert outcome.seconds == 0
    assert outcome.result.error == f"mv2 on native: {ATTEMPTS} workers died at work on it"
    assert isinstance(outcome.result.failure, CmbuildError)
