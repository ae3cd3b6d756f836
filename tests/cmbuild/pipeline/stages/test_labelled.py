"""Accuracy on a project's own labelled samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cmbuild
from cmbuild.errors import CmbuildError
from cmbuild.pipeline.stages.labelled import LabelledStage

PROGRAM = Path(__file__).parents[3] / "data" / "programs" / "network.pte"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    text = f"[models.net]\nsource = '{PROGRAM}'\ndata = 'test.npz'\n"
    (tmp_path / "cmbuild.toml").write_text(text)
    return tmp_path


def test_all_samples_count_though_one_runs():
    inputs = np.random.default_rng(1).random((6, 1, 3, 6, 5), np.float32)
    np.savez("test.npz", input_0=inputs, labels=np.zeros(6, np.int64))
    result = cmbuild.run("net", "native")
    assert result.model == "net"
    assert result.accuracy is not None
    assert (result.accuracy.samples, result.verification.samples) == (6, 1)


def test_labels_are_needed():
    np.savez("test.npz", input_0=np.zeros((2, 1, 3, 6, 5), np.float32))
    with pytest.raises(CmbuildError, match=r"test\.npz has no array `labels`"):
        cmbuild.run("net", "native")
    assert LabelledStage.kind.label == "reference"
