"""The verbs as functions: quiet, typed, and never the end of the process."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cmbuild
from cmbuild.pipeline.events import StepOutcome

PROGRAMS = Path(__file__).parents[2] / "data" / "programs"


@pytest.fixture
def program() -> Path:
    return PROGRAMS / "branches.pte"


@pytest.fixture(autouse=True)
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_run_is_its_result(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    outcomes: list[StepOutcome] = []
    result = cmbuild.run(program, "native", samples=2, progress=outcomes.append)
    assert isinstance(result, cmbuild.RunResult)
    assert result.verification.verified
    assert result.verification.samples == 2
    assert [outcome.step.kind for outcome in outcomes][-1] == "simulate"
    assert capfd.readouterr() == ("", "")


def test_a_build_is_its_result(program: Path) -> None:
    result = cmbuild.build(program, "corstone300")
    assert result.memory.flash.weights >= 0
    assert result.artifacts["image"].is_file()


def test_a_run_writes_its_report(program: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    cmbuild.run(program, "native", html=report)
    assert report.read_text().startswith("<!DOCTYPE html>")
    with pytest.raises(cmbuild.CmbuildError, match="is a folder"):
        cmbuild.run(program, "native", html=tmp_path)


def test_accuracy_over_a_data_set(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(0)
    inputs = random.uniform(-2, 3, (12, 1, 3, 6, 5)).astype(np.float32)
    np.savez(tmp_path / "data.npz", input_0=inputs, labels=random.integers(0, 3, 12))
    network, outcomes = PROGRAMS / "network.pte", list[StepOutcome]()
    actual = cmbuild.evaluate(
        network, "native", data="data.npz", samples=10, chunk=5, progress=outcomes.append
    )
    assert [form.form for form in actual.forms] == ["reference", "device"]
    assert (actual.samples, actual.board) == (10, "native")
    assert outcomes[-1].step.kind == "evaluate"
    resumed = cmbuild.evaluate(
        network, "native", data="data.npz", samples=10, chunk=5, resume=True, until="49%"
    )
    assert resumed.samples < actual.samples
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": "data.npz", "min_snr": 20}, "data goes without sensitivity and min_snr"),
        ({"until": "1%"}, "until, workers and scheduler need data"),
        ({"board": "native", "data": "data.npz", "until": "1"}, "is not a percentage"),
        ({"board": "native", "data": "none.npz"}, "none.npz"),
    ],
)
def test_data_that_cannot_be_evaluated(options: dict[str, Any], message: str) -> None:
    with pytest.raises(cmbuild.CmbuildError, match=message):
        cmbuild.evaluate(PROGRAMS / "network.pte", **options)


def test_a_package_is_where_it_is_wanted(program: Path, tmp_path: Path) -> None:
    result = cmbuild.package(program, tmp_path / "kws", form="source", name="kws")
    assert (result.folder, result.target) == (tmp_path / "kws", "cortex-m55")
    assert (result.folder / "kws.h").is_file()
    assert "<td>kws</td>" in result._repr_html_()
    (result.folder / "kws.h").write_text("mine\n")
    with pytest.raises(cmbuild.CmbuildError, match=r"kws\.h"):
        cmbuild.package(program, tmp_path / "kws", name="other")
    with pytest.raises(cmbuild.CmbuildError, match="float"):
        cmbuild.package(program, tmp_path / "other", max_float="0%")


def test_a_thread_may_run(program: Path) -> None:
    results: list[cmbuild.RunResult] = []
    thread = threading.Thread(target=lambda: results.append(cmbuild.run(program, "native")))
    thread.start()
    thread.join()
    assert results[0].verification.verified


def test_failures_are_raised(program: Path) -> None:
    with pytest.raises(cmbuild.CmbuildError, match="unknown board"):
        cmbuild.run(program, "natives")
    with pytest.raises(cmbuild.CmbuildError, match="missing"):
        cmbuild.run("missing.pte", "native")
    with pytest.raises(cmbuild.CmbuildError, match="not from 0 to"):
        cmbuild.run(program, "native", seed=-1)
    with pytest.raises(cmbuild.CmbuildError, match="without a float model"):
        cmbuild.evaluate(program)
    with pytest.raises(TypeError, match="RunRequest has no sample"):
        cmbuild.run(program, "native", sample=2)


def test_a_sweep_yields_results_and_failures(program: Path) -> None:
    broken = PROGRAMS / "dynamic_shape.pte"
    actual = cmbuild.sweep([broken, program], ["native", "corstone300:scalar"], samples=2)
    first = next(actual)
    assert (first.result, first.exit_code) == (None, 1)
    assert "dynamic shapes" in str(first.error) and "dynamic shapes" in str(first.failure)
    rest = list(actual)
    assert [(each.board, each.error is None) for each in rest] == [
        ("corstone300:scalar", False),
        ("native", True),
        ("corstone300:scalar", True),
    ]
    assert rest[-1].result is not None and rest[-1].result.isa == "scalar"
    with pytest.raises(TypeError, match="has no sample"):
        cmbuild.sweep(program, "native", sample=2)
    with pytest.raises(cmbuild.CmbuildError, match="0 workers requested"):
        cmbuild.sweep(program, "native", workers=0)
    with pytest.raises(cmbuild.CmbuildError, match="exclude each other"):
        cmbuild.sweep(program, "native", workers=2, scheduler="tcp://a:1")


def test_fits_without_building(program: Path) -> None:
    (fitting,) = cmbuild.fit(program, "corstone300")
    assert fitting.fits and fitting.need is not None and fitting.need.arena > 0
    assert len(cmbuild.fit([program, PROGRAMS / "network.pte"], ["microbit", "rp2350"])) == 4
    with pytest.raises(cmbuild.CmbuildError, match="unknown board"):
        cmbuild.fit(program, "nothing")


def test_calls_share_the_workers_of_a_pool(program: Path) -> None:
    with cmbuild.pool(1) as pool:
        fitting = cmbuild.fit(program, ["microbit", "rp2350"], workers=pool)
        (ran,) = cmbuild.sweep(program, "native", workers=pool)
    assert list(fitting) == list(cmbuild.fit(program, ["microbit", "rp2350"]))
    assert ran.result is not None and ran.result.verification.verified
    with pytest.raises(cmbuild.CmbuildError, match="workers have ended"):
        cmbuild.fit(program, "microbit", workers=pool)


def test_a_result_shows_itself_in_a_notebook(program: Path) -> None:
    shown = cmbuild.run(program, "native")._repr_html_()
    assert "<th>memory.ram.total</th>" in shown and "<td>native</td>" in shown
    assert cmbuild.fit(program, ["microbit", "rp2350"])._repr_html_().count("<tr>") == 3


def test_the_package_itself_imports_nothing() -> None:
    code = "import cmbuild, sys; print(*(m for m in sys.modules if m.startswith('cmbuild')))"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert said.stdout.split() == ["cmbuild"]


def test_all_names_are_there() -> None:
    assert all(getattr(cmbuild, name) for name in cmbuild.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = cmbuild.nothing  # type: ignore[attr-defined]


@pytest.mark.long
def test_the_examples_of_the_documents_run() -> None:
    Path("net.py").write_text(
        "import torch\n\n\ndef make():\n    return torch.nn.Linear(4, 2), (torch.ones(1, 4),)\n"
    )
    text = (Path(__file__).parents[3] / "docs" / "python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    exec("".join(blocks), {})
