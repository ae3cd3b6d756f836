"""An error of a unit is that of the command that would have failed."""

from __future__ import annotations

import pytest

from cmbuild.errors import CmbuildError, Failed, Missing, UsageError
from cmbuild.workers.results import SweepResult


@pytest.mark.parametrize("kind", [Failed, UsageError, Missing])
def test_an_error_survives_the_way_as_text(kind: type[CmbuildError]) -> None:
    error = kind(message="it does not fit", hint="a larger board")
    actual = SweepResult.of("mv2", "microbit", None, error).failure
    assert actual is not None
    assert (type(actual), actual.lines, actual.exit_code) == (kind, error.lines, error.exit_code)


def test_no_error_is_none() -> None:
    assert SweepResult("mv2", "microbit", None).failure is None
