"""Samples are counted as their results are written, not before."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from cmbuild.pipeline import growth
from cmbuild.pipeline.events import Portion
from cmbuild.pipeline.growth import samples_written


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "_SECONDS", 0.001)


class Reports:
    def __init__(self) -> None:
        self.all: list[tuple[str, Portion]] = []
        self._come = threading.Event()

    def __call__(self, text: str, portion: Portion) -> None:
        self.all.append((text, portion))
        self._come.set()

    def wait(self) -> None:
        assert self._come.wait(20)
        self._come.clear()


def test_whole_samples_are_reported_once(tmp_path: Path) -> None:
    reports, file = Reports(), tmp_path / "output0"
    with samples_written(file, 8, 4, reports):
        file.write_bytes(bytes(20))
        reports.wait()
        file.write_bytes(bytes(32))
        reports.wait()
    assert reports.all == [
        ("2 of 4", Portion(0.5, next=0.75)),
        ("4 of 4", Portion(1.0, next=1.25)),
    ]


@pytest.mark.parametrize(("size", "count"), [(0, 4), (8, 1)])
def test_nothing_is_known_of_one_sample_or_of_no_bytes(
    size: int, count: int, tmp_path: Path
) -> None:
    before = threading.active_count()
    with samples_written(tmp_path / "output0", size, count, Reports()):
        assert threading.active_count() == before
