"""export: model → .pte, in a child process, since it needs torch."""

from __future__ import annotations

import json
import shutil
import threading
import weakref
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from cmbuild.cache.fingerprint import Value
from cmbuild.cache.folders import slug
from cmbuild.cache.store import Condition, Entry
from cmbuild.errors import CmbuildError, compiler_failure
from cmbuild.files import copy
from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.performing import is_made
from cmbuild.pipeline.stages.stage import Stage, StageKind
from cmbuild.process import python_module
from cmbuild.results import ExportResult
from cmcompiler.errors import ErrorKind
from cmcompiler.frontend.job import (
    OUTPUTS,
    PROGRAM,
    RECORD,
    SAMPLES,
    ExportJob,
    ExportRecord,
    dependencies,
    superseded,
    versions,
)
from cmcompiler.frontend.job import read as read_json

if TYPE_CHECKING:
    from cmcompiler.frontend.outputs import ModelOutputs

_SECONDS = 3600.0  # for all exports of one child process; the largest model takes half a minute


class ExportStage(Stage):
    """One export, shared by all boards with its target; in the cache of the user."""

    kind = StageKind.EXPORT
    verb = "exported"
    shared = True

    def __init__(self, job: ExportJob, batch: Batch, folder: Path) -> None:
        """
        Args:
            job: what to export; its output is ignored.
            folder: of all exports, in the cache.
        """
        self.job = job
        self.name = f"{slug(job.model)}-{job.target}"
        self.subject = f"{job.model} for {job.target}"
        self._batch = batch
        self._folder = folder
        batch.add(self)

    def parts(self) -> Mapping[str, Value]:
        paths = {"weights", "calibration", "torch_ops", "output"}
        options = self.job.model_dump(mode="json", exclude=paths)
        return options | {
            "files": list(dependencies(self.job)),
            "versions": _versions(),
            "calibration": self.job.calibration is not None,
        }

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / f"{self.name}-{self.fingerprint[:16]}")

    @property
    def program(self) -> Path:
        return self.entry.folder / PROGRAM

    @property
    def samples(self) -> Path:
        return self.entry.folder / SAMPLES

    @cached_property
    def outputs(self) -> ModelOutputs:
        """Of the float module and of the quantised graph, on the samples."""
        from cmcompiler.frontend.outputs import ModelOutputs

        return ModelOutputs.load(self.entry.folder / OUTPUTS)

    @cached_property
    def record(self) -> ExportRecord:
        return read_json(ExportRecord, self.entry.folder / RECORD)

    def condition(self) -> Condition:
        found = super().condition()
        if found is Condition.WHOLE and superseded(self.job, self.record):
            return Condition.ABSENT
        return found

    def deliver(self, folder: Path | None) -> ExportResult:
        """The result; copies it into the user's folder, if one is given."""
        program, samples = self.program, self.samples
        if folder is not None:
            stem = folder.absolute() / slug(self.job.model)
            program, samples = Path(f"{stem}.pte"), Path(f"{stem}.npz")
            copy(self.program, program)
            copy(self.samples, samples)
        return ExportResult(self.record, program, samples)

    def make(self, folder: Path) -> None:
        for name in ("record", "outputs"):
            self.__dict__.pop(name, None)
        self._batch.export(self, folder)


@cache
def _versions() -> Mapping[str, str]:
    """Looked up once for all exports."""
    return versions()


class Batch:
    """Exports that are due together: one child process imports torch once for all of them."""

    def __init__(self, context: WorkContext) -> None:
        self._context = context
        self._stages: list[ExportStage] = []
        self._outcomes: dict[str, Path | CmbuildError] = {}
        self._lock = threading.Lock()

    def add(self, stage: ExportStage) -> None:
        self._stages.append(stage)

    def export(self, stage: ExportStage, folder: Path) -> None:
        """Fills a folder with a stage's export; the first call exports everything that is due.

        Raises:
            CmbuildError: why this one failed.
        """
        with self._lock:
            if stage.name not in self._outcomes:
                due = [other for other in self._stages if other is stage or self._is_due(other)]
                self._outcomes |= self._run(due, folder)
        outcome = self._outcomes[stage.name]
        if isinstance(outcome, CmbuildError):
            raise outcome
        for file in outcome.iterdir():
            shutil.move(file, folder)

    def _is_due(self, stage: ExportStage) -> bool:
        return stage.name not in self._outcomes and not is_made(stage)

    def _run(self, due: list[ExportStage], folder: Path) -> dict[str, Path | CmbuildError]:
        staging = Path(mkdtemp(prefix=".export-", dir=folder.parent))
        weakref.finalize(self, shutil.rmtree, staging, ignore_errors=True)
        jobs = []
        for index, stage in enumerate(due):
            job = stage.job.model_copy(update={"output": staging / str(index)})
            jobs.append(staging / f"{index}.json")
            jobs[-1].write_text(job.model_dump_json())
        outcomes: dict[str, Path | CmbuildError] = {}

        def listen(line: str) -> None:
            event = json.loads(line)
            stage = due[event["job"]]
            if event["event"] == "step":
                self._context.progress(stage.step, event["step"])
            elif event["event"] == "done":
                outcomes[stage.name] = Path(event["output"])
            elif event["event"] == "error":
                kind = ErrorKind(event["kind"])
                outcomes[stage.name] = compiler_failure(kind, event["error"], event["hint"])

        completed = self._context.processes.run(
            [*python_module("cmcompiler"), "export", *jobs],
            log=self._context.logs / "export.txt",
            timeout=_SECONDS,
            check=False,
            listener=listen,
            name="the export",
        )
        for stage in due:
            if stage.name not in outcomes:
                outcomes[stage.name] = completed.failure(f"the export of {stage.job.model}")
        return outcomes
