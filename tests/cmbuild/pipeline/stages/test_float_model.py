"""The float model's outputs for samples that its export does not have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cmbuild.cache.store import Condition
from cmbuild.pipeline.performing import perform
from cmbuild.pipeline.stages import float_model
from cmbuild.pipeline.stages.float_model import FloatStage
from cmcompiler.frontend.float_model import FloatJob, FloatSamples, float_file
from cmcompiler.frontend.job import ExportJob


class FakeModel:
    """In place of the child process: gives outputs, or the reason why there are none."""

    def __init__(self, error: str | None = None) -> None:
        self.error = error
        self.jobs: list[FloatJob] = []

    def run(self, argv: Any, listener: Callable[[str], None], **others: Any) -> None:
        job = FloatJob.model_validate_json(Path(argv[-1]).read_bytes())
        self.jobs.append(job)
        if self.error is not None:
            listener(json.dumps({"event": "error", "error": self.error}))
            return
        np.savez(float_file(job.output, 0), output_0=np.full(job.parts[0].count, 7.0))
        listener(json.dumps({"event": "done"}))


def made(folder: Path, model: FakeModel, **others: Any) -> FloatStage:
    folder.mkdir(exist_ok=True)
    export = SimpleNamespace(
        job=ExportJob(model="mlp", output=Path()), home=None, parts=lambda: {"target": "", "a": 1}
    )
    ports = [SimpleNamespace(scale=0.5, zero_point=3), SimpleNamespace(scale=None)]
    plan: Any = SimpleNamespace(source=SimpleNamespace(export=export, name="mlp"), inputs=ports)
    context: Any = SimpleNamespace(compiler=lambda: ["cmcompiler"], processes=model, logs=folder)
    stage = FloatStage(
        plan,
        context,
        folder,
        name="mlp-native",
        subject="mlp",
        parts=lambda samples: [FloatSamples(file=samples / "x.npz", first=2, count=5)],
        inputs=lambda: "x",
        **others,
    )
    perform(stage, lambda: None, lambda text: None)
    return stage


def test_outputs_are_kept(tmp_path: Path) -> None:
    model = FakeModel()
    stage = made(tmp_path, model)
    outputs = stage.outputs()
    assert outputs is not None
    assert outputs[0].tolist() == [7.0] * 5
    assert (stage.reason, stage.condition()) == (None, Condition.WHOLE)
    assert model.jobs[0].schemes == ((0.5, 3), None)
    made(tmp_path, model)
    assert len(model.jobs) == 1


def test_a_failure_is_a_reason_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = made(tmp_path, FakeModel("sample 1: no"))
    assert (stage.reason, stage.outputs()) == ("sample 1: no", None)
    assert stage.summary() == "mlp: sample 1: no"
    with monkeypatch.context() as patch:
        patch.setattr(float_model, "find_spec", lambda name: None)
        assert made(tmp_path, FakeModel()).reason == "torch is not installed"
    assert made(tmp_path, FakeModel()).reason is None


def test_nobody_computes_what_nobody_looks_at(tmp_path: Path) -> None:
    model = FakeModel()
    stage = made(tmp_path, model, is_needed=lambda: False)
    assert (stage.outputs(), stage.reason, model.jobs) == (None, None, [])
    assert "not needed" in stage.summary()
