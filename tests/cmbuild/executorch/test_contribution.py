"""The runner that ExecuTorch's package contributes, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness.checkout import make_checkout

from cmbuild.executorch.contribution import NotForExecutorch, runner
from cmbuild.executorch.stages.runner import ExecutorchRunnerStage
from cmbuild.pipeline.executors import contributed
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.request import BuildRequest
from cmbuild.pipeline.session import Session
from cmbuild.report.lines import Lines


def made(folder: Path, **options: Any) -> object:
    pipeline = Pipeline(Session(Lines(verbose=False), folder).context)
    whole = {"model": "mlp", "board": "corstone300", "executor": "executorch"} | options
    return pipeline.runner(compose(BuildRequest, build_dir=folder, **whole))


def test_the_pipeline_finds_it_by_the_executor_s_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert contributed("executorch") is runner
    monkeypatch.setenv("EXECUTORCH_ROOT", str(make_checkout(tmp_path)))
    assert isinstance(made(tmp_path), ExecutorchRunnerStage)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"io": "int8"}, "--io int8"),
        ({"intermediates": Path("x")}, "--intermediates"),
        ({"feed": "rows"}, "--feed rows"),
        ({"ram_budget": "64K"}, "--ram-budget"),
        ({"toolchain": "zig"}, "--toolchain zig"),
    ],
)
def test_what_its_runtime_cannot_do_is_refused(
    options: dict[str, Any], what: str, tmp_path: Path
) -> None:
    with pytest.raises(NotForExecutorch, match=what):
        made(tmp_path, **options)
