"""Exports as stages: one child for all that are due, found again by what they depend on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
import pytest
from harness.commands import NETWORK
from harness.stages import Memory
from hypothesis import example, given
from hypothesis import strategies as st

from cmbuild.cache.folders import slug
from cmbuild.errors import CmbuildError, ExitCode, ProcessFailed
from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.events import Portion
from cmbuild.pipeline.session import Session
from cmbuild.pipeline.stages.export import Batch, ExportStage
from cmbuild.process import Completed, python_module
from cmbuild.tasks.run import run
from cmcompiler.frontend.job import ExportJob
from cmcompiler.frontend.outputs import ModelOutputs
from cmcompiler.frontend.vectors import Samples

FILE = """
def model():
    return None
"""


class Exporter:
    """Stands in for the child process: understands its arguments, speaks its events."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.fails: dict[str, dict[str, str]] = {}
        self.origin = "given"
        self.seconds: dict[str, float] = {}

    def run(
        self, argv: Sequence[str | Path], *, log: Path, listener: Callable[[str], None], **_: Any
    ) -> Completed:
        assert list(argv[:5]) == [*python_module("cmcompiler"), "export"]
        jobs = [ExportJob.model_validate_json(Path(path).read_text()) for path in argv[5:]]
        self.batches.append([job.model for job in jobs])
        for index, job in enumerate(jobs):
            if job.model in self.fails:
                fields = {"event": "error", "job": index, **self.fails[job.model]}
                if "error" in fields:
                    listener(json.dumps(fields))
                continue
            listener(json.dumps({"event": "step", "job": index, "step": "quantize"}))
            self._write(job)
            listener(json.dumps({"event": "done", "job": index, "output": str(job.output)}))
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("Segmentation fault\n")
        return Completed(tuple(map(str, argv)), -11 if self.fails else 0, 1.0, log)

    def _write(self, job: ExportJob) -> None:
        record = {
            "model": job.model,
            "target": job.target,
            "seed": job.seed,
            "weights": {"source": self.origin, "detail": "fake"},
            "versions": {},
            "task": "unknown",
            "classes": [],
            "image": None,
            "inputs": [{"name": "x", "dtype": "float32", "shape": [1]}],
            "outputs": [],
            "calibration": {"samples": 1, "detail": "fake"},
            "samples": {"count": 1, "labels": False, "origin": "samples"},
            "fidelity": {},
            "float_operators": [],
            "lacking": [],
            "layers": [],
            "call_sites": {
                name: {"operator": name, "module": "", "file": file, "line": 1}
                for name, file in {
                    "relu": job.model.partition(":")[0],
                    "far": "/elsewhere/net.py",
                }.items()
            },
            "instructions": {},
            "seconds": self.seconds,
        }
        job.output.mkdir()
        copyfile(NETWORK, job.output / "model.pte")
        Samples((np.zeros((1, 1), np.float32),)).save(job.output / "samples.npz")
        ModelOutputs((), ()).save(job.output / "outputs.npz")
        (job.output / "export.json").write_text(json.dumps(record))


class Models:
    """Model files, and exports of them, each time as in a fresh process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.exporter = Exporter()
        self.reporter = Memory()
        for name in ("a", "b", "c"):
            self.path(name).write_text(FILE)

    def path(self, name: str) -> Path:
        return self.root / f"{name}.py"

    def export(self, *names: str, jobs: int = 1, **options: Any) -> tuple[int, list[ExportStage]]:
        context = WorkContext(self.exporter, self.root / "logs", self.reporter.progress)  # type: ignore[arg-type]
        batch = Batch(context)
        stages = [
            ExportStage(
                ExportJob(model=str(self.path(name)), output=Path(), **options),
                batch,
                self.root / "cache",
            )
            for name in names
        ]
        with Session(self.reporter, self.root / "logs") as session:
            run(session, stages, [], jobs)
        return session.status, stages

    def exported(self) -> list[list[str]]:
        """Names per child since the last call."""
        batches = [[Path(model).stem for model in batch] for batch in self.exporter.batches]
        self.exporter.batches.clear()
        return batches


@pytest.fixture
def models(tmp_path: Path) -> Models:
    return Models(tmp_path)


@pytest.mark.parametrize("jobs", [1, 3])
def test_exports_due_together_share_a_child(models: Models, jobs: int) -> None:
    status, stages = models.export("a", "b", jobs=jobs)
    assert status == 0
    assert models.exported() == [["a", "b"]]
    for name, stage in zip("ab", stages, strict=True):
        assert stage.record.model == str(models.path(name))
    assert (f"{models.path('b')} for cortex-m55", "quantize") in models.reporter.progressed
    models.export("a", "b", "c", jobs=jobs)
    assert models.exported() == [["c"]]
    models.export("a", "b", "c", jobs=jobs)
    assert models.exported() == []


def test_all_that_an_export_depends_on(models: Models, tmp_path: Path) -> None:
    weights, calibration = tmp_path / "w.pt", tmp_path / "c.npy"
    weights.write_text("w")
    calibration.write_text("c")
    variants: list[dict[str, Any]] = [
        {},
        {"seed": 1},
        {"target": "cortex-m33"},
        {"weights": weights},
        {"calibration": calibration},
    ]
    for options in variants:
        models.export("a", **options)
        assert models.exported() == [["a"]]
    for options in variants:
        models.export("a", **options)
        assert models.exported() == []
    weights.write_text("other")
    calibration.write_text("other")
    for options, due in zip(variants, [[], [], [], [["a"]], [["a"]]], strict=True):
        models.export("a", **options)
        assert models.exported() == due
    models.path("a").write_text(FILE + "\n")
    models.export("a")
    assert models.exported() == [["a"]]


def test_failure_of_one_is_its_own(models: Models) -> None:
    message = {"error": "b.py:3: KeyError: 'x' {y}", "hint": "fix {it}", "kind": "invalid"}
    models.exporter.fails = {str(models.path("b")): message}
    status, _ = models.export("a", "b")
    assert status == ExitCode.USAGE
    (error,) = models.reporter.errors
    assert (error.message, error.hint) == ("b.py:3: KeyError: 'x' {y}", "fix {it}")
    models.exporter.fails = {}
    models.exported()
    assert models.export("a", "b")[0] == 0
    assert models.exported() == [["b"]]


def test_child_that_dies_silently(models: Models) -> None:
    models.exporter.fails = {str(models.path("a")): {}}
    assert models.export("a")[0] == ExitCode.FAILED
    (error,) = models.reporter.errors
    assert isinstance(error, ProcessFailed)
    assert error.message == (
        f"the export of {models.path('a')} was killed by SIGSEGV: Segmentation fault"
    )
    assert error.hint == f"the full output is in {models.root / 'logs' / 'export.txt'}"


def test_published_weights_that_came_later_are_used(
    models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    come: list[CmbuildError] = []
    monkeypatch.setattr(
        "cmbuild.pipeline.stages.export.superseded",
        lambda job, record: record.weights.source.value == "random" and bool(come),
    )
    models.exporter.origin = "random"
    models.export("a")
    models.export("a")
    assert models.exported() == [["a"]]
    come.append(CmbuildError(message="they are here"))
    models.exporter.origin = "pretrained"
    _, (stage,) = models.export("a")
    assert stage.record.weights.source.value == "pretrained"
    models.export("a")
    assert models.exported() == [["a"]]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("mv2", "mv2"),
        ("mobilenet_v1_025", "mobilenet_v1_025"),
        ("a folder/net.py", "net"),
        ("a folder/net.py:make", "net-make"),
        ("../x/my net.pt2", "my_net"),
        ("x/model.v2.pte", "model.v2"),
    ],
)
def test_slug(model: str, name: str) -> None:
    assert slug(model) == name


@given(st.text())
@example("...pte")
@example("..py:..")
@example("")
@example("x" * 300)
def test_any_slug_names_one_folder_below(model: str) -> None:
    name = slug(model)
    assert name not in ("", ".", "..")
    assert (Path("/builds") / name).parent == Path("/builds")
    assert Path(os.path.normpath(f"/builds/{name}")) == Path("/builds") / name
    assert len(name.encode()) < 200 or not name.isascii()


def test_clones_of_a_project_share_exports(tmp_path: Path) -> None:
    stages = []
    for clone in ("one", "two"):
        home = tmp_path / clone
        home.mkdir()
        (home / "net.py").write_text(FILE)
        job = ExportJob(model=f"{home}/net.py:model", output=Path())
        context = WorkContext(Exporter(), tmp_path / "logs")  # type: ignore[arg-type]
        batch = Batch(context)
        stages.append(ExportStage(job, batch, tmp_path / "cache", label="kws", home=home))
    first, second = stages
    assert first.entry == second.entry
    first.entry.folder.mkdir(parents=True)
    first.make(first.entry.folder)
    assert first.record.model == f"{tmp_path}/one/net.py:model"
    assert second.record.model == f"{tmp_path}/two/net.py:model"
    assert first.record.call_sites["relu"].file == f"{tmp_path}/one/net.py"
    assert second.record.call_sites["relu"].file == f"{tmp_path}/two/net.py"
    assert second.record.call_sites["far"].file == "/elsewhere/net.py"


def test_a_step_tells_what_is_left_by_the_export_before(models: Models) -> None:
    models.exporter.seconds = {"import": 4.0, "load": 1.0, "quantize": 10.0, "lower": 5.0}
    _, (first,) = models.export("a")
    assert models.reporter.portions == [None]
    models.path("a").write_text(FILE + "# changed")
    _, (second,) = models.export("a")
    assert models.reporter.portions[-1] == Portion(0.25, None, 0.75)
    assert [second.portion_before(step) for step in ("import", "lower", "write")] == [
        Portion(0.0, 20.0, 0.2),
        Portion(0.75, None, 1.0),
        None,
    ]
    assert first.fingerprint != second.fingerprint
