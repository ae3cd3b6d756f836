"""Which workers may be asked for."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from cmbuild.errors import CmbuildError
from cmbuild.process import Processes
from cmbuild.workers.choice import MOST, NoDask, WorkersChoice


@pytest.mark.parametrize(
    ("workers", "scheduler", "error"),
    [
        (1, "tcp://here:1", "exclude each other"),
        (0, None, "0 workers requested; at least 1"),
        (MOST + 1, None, f"at most {MOST} run"),
        (None, "here:8786", "is not the address of a scheduler"),
    ],
)
def test_wrong_choices_are_one_line(workers: int | None, scheduler: str | None, error: str) -> None:
    with pytest.raises(CmbuildError, match=error):
        WorkersChoice(workers, scheduler)


def test_a_cluster_needs_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NoDask, match="distributed is not installed"):
        WorkersChoice(scheduler="tcp://here:8786")


def test_nothing_chosen_opens_nothing(tmp_path: Path) -> None:
    assert WorkersChoice(1).is_chosen
    nothing = WorkersChoice()
    assert not nothing.is_chosen
    with pytest.raises(ValueError, match="no workers chosen"):
        nothing.opened(Processes(), tmp_path, None).__enter__()
