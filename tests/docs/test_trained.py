"""docs/trained.md is the page of what benchmarks/trained.py measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from harness.commands import Commands
from harness.sources import ROOT

from cmcompiler import zoo

MEASURED = json.loads((ROOT / "benchmarks" / "trained.json").read_text())
OTHERS = json.loads((ROOT / "benchmarks" / "trained_others.json").read_text())
WEIGHTS = ROOT.parent / "shared" / "mlperf"


def test_the_page_has_the_measured_figures() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "trained.py"), "--print"]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    assert made.stdout == (ROOT / "docs" / "trained.md").read_text(), " ".join(command)


def test_every_figure_has_a_model_and_a_source() -> None:
    assert {row["model"] for row in MEASURED} <= set(zoo.names())
    published = OTHERS["published"].values()
    assert {source for models in published for _, source in models.values()} <= set(
        OTHERS["sources"]
    )
    for figures in (*OTHERS["tflm"]["figures"].values(), *published):
        assert set(figures) <= set(zoo.names())


def test_each_takes_fewer_cycles_than_others() -> None:
    for row in MEASURED:
        model, core = row["model"], row["core"]
        micro = OTHERS["tflm"]["figures"].get(core, {}).get(model)
        best = OTHERS["published"].get(core, {}).get(model)
        assert micro is None or row["cycles"] < micro[0], (model, core)
        assert best is None or row["cycles"] < 1e6 * best[0], (model, core)


@pytest.mark.long
def test_a_run_has_the_measured_figures(tmp_path: Path, tmp_path_factory) -> None:
    """Of the smallest network; without calibration by real sounds it takes as many cycles."""
    if not WEIGHTS.is_dir():
        pytest.skip(f"the trained weights are not in {WEIGHTS}")
    cmbuild = Commands.in_folder_of(tmp_path, tmp_path_factory)
    words = ("--weights", WEIGHTS / "ad_tf.npz", "--board", "mps2-an386", "--io", "int8", "--json")
    (row,) = (
        row for row in MEASURED if (row["model"], row["core"]) == ("deep_autoencoder", "cortex-m4")
    )
    assert cmbuild("run", "deep_autoencoder", *words).document["cycles"]["total"] == pytest.approx(
        row["cycles"], rel=0.01
    )
