"""The example of a search: what fits is chosen from estimates, and only the front runs."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from harness.page import Page, assert_same_numbers

import cmbuild
from cmbuild.sizing.results import (
    ExportedAccuracy,
    FitResult,
    NeedResult,
    PredictedCycles,
)

SEARCH = Path(__file__).parents[2] / "examples" / "search.py"


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("search_example", SEARCH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "search_example", module)
    spec.loader.exec_module(module)
    return module


def estimate(model: str, board: str) -> list[FitResult]:
    """Wider candidates are larger, slower and better."""
    width = max(map(int, re.findall(r"Stage\((\d+)", Path(model).read_text())))
    need = NeedResult(width * 1024, 1024, width * 100, 100, 1024, "assumed", {})
    accuracy = ExportedAccuracy(float=0.9, quantized=width / 40, samples=360)
    cycles = PredictedCycles(width * 1000, None, 5)
    return [FitResult(str(model), board, 1 << 20, 1 << 20, True, need, cycles, (), accuracy)]


def test_the_front_fits_and_alone_runs(
    search: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ran = []

    def run(models: list[str] | Path, board: str, **_: Any) -> list[Any]:
        if isinstance(models, Path):  # before the first candidate
            return []
        ran.extend(models)
        result = SimpleNamespace(
            accuracy=SimpleNamespace(device=0.75), cycles=SimpleNamespace(total=12345)
        )
        return [SimpleNamespace(model=model, result=result, failure=None) for model in models]

    made = []

    def fit(model: str, board: str, **_: Any) -> list[FitResult]:
        made.append(model)
        return estimate(model, board)

    monkeypatch.setattr(cmbuild, "fit", fit)
    monkeypatch.setattr(cmbuild, "sweep", run)
    words = (
        "--candidates",
        "12",
        "--workers",
        "1",
        "--scheduler",
        "tcp://none:1",
        "--flash",
        "17K",
    )
    monkeypatch.setattr(sys, "argv", ["search.py", *words, "--folder", str(tmp_path / "s")])
    search.main()
    first, told = capsys.readouterr()
    lines = re.findall(
        r"^(\d+) of 12: [\d.]+%, [\d,]+ cycles, .+; 0:\d\d left$", told, re.MULTILINE
    )
    assert list(map(int, lines)) == list(range(1, 13))
    assert "12 candidates, " in first and "75.0%" in first and "12,345" in first
    widths = [max(map(int, re.findall(r"(\d+)x", Path(model).stem))) for model in ran]
    assert widths == sorted(widths) and 0 < max(widths) <= 16
    plot = Page((tmp_path / "s" / "search.html").read_text())
    assert (plot.open, plot.addresses) == ([], [])
    groups = Counter(point["group"] for point in plot.embedded["points"])
    assert groups["within the limits"] + groups["beyond a limit"] == 12
    assert groups["ran"] == len(ran)
    assert_same_numbers(plot.numbers, plot.embedded)
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--candidates", "24"])
    search.main()
    summary, told = capsys.readouterr()
    assert "24 candidates, " in summary and told.count(" of 24: ") == 12
    assert len(set(made)) == len(made) == 24


def test_sizes(search: ModuleType) -> None:
    assert (search.size("48K"), search.size("300")) == (49152, 300)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_it_runs_as_documented(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SEARCH, "--candidates", "3", "--workers", "1"],
        cwd=tmp_path,
        env={**os.environ, "CMBUILD_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert re.match(r"3 candidates, \d+ s; \d of them within the limits", lines[0])
    rows = lines[2:-1]
    assert rows
    assert all(re.search(r"net_\S+ +[\d.]+% +[\d,]+ +[\d.]+% +[\d,]+", row) for row in rows)
    assert lines[-1] == "all candidates: build/search/search.html"
