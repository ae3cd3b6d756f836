"""export: model → .pte, in a child process, since it needs torch."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from cmbuild.cache.fingerprint import Value
from cmbuild.cache.folders import slug
from cmbuild.cache.store import Condition, Entry
from cmbuild.errors import CmbuildError, compiler_failure
from cmbuild.outputs.delivery import Destination
from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.events import Portion
from cmbuild.pipeline.performing import is_made
from cmbuild.pipeline.stages.stage import Stage, StageKind
from cmbuild.remote.pins import pinned
from cmbuild.results import ExportResult
from cmcompiler.errors import ErrorKind
from cmcompiler.frontend.job import (
    INTERMEDIATES,
    NEEDED,
    OUTPUTS,
    PACKAGES,
    PROGRAM,
    RECORD,
    SAMPLES,
    STEPS,
    ExportJob,
    ExportRecord,
    dependencies,
    superseded,
    versions,
)
from cmcompiler.frontend.job import read as read_json
from cmcompiler.frontend.weights import is_random

if TYPE_CHECKING:
    from cmcompiler.frontend.outputs import ModelOutputs

_SECONDS = 3600.0  # for all exports of one child process; the largest model takes half a minute


class ExportStage(Stage):
    """One export, shared by all boards with its target; in the cache of the user."""

    kind = StageKind.EXPORT
    verb = "exported"
    shared = True
    travels = True

    def __init__(
        self,
        job: ExportJob,
        batch: Batch,
        folder: Path,
        *,
        label: str | None = None,
        home: Path | None = None,
        wanted: Destination | None = None,
    ) -> None:
        """
        Args:
            job: what to export; its output is ignored.
            folder: of all exports, in the cache.
            label: the model's name in a project.
            home: the folder in which the model's code runs; the current one if None.
            wanted: the user's folder for the stages of an export that fails.
        """
        self.job = job
        self.model = label or job.model
        self.home = home
        self.wanted = wanted
        self.name = f"{slug(self.model)}-{job.target}{_suffix(job)}"
        self.subject = f"{self.model} for {job.target}"
        self._batch = batch
        self._folder = folder
        batch.add(self)

    def parts(self) -> Mapping[str, Value]:
        paths = {"weights", "calibration", "torch_ops", "output"}
        options = self.job.model_dump(mode="json", exclude=paths)
        return options | {
            "model": self._below_home(self.job.model),
            "files": list(dependencies(self.job)),
            "versions": _versions(),
            "calibration": self.job.calibration is not None,
            "random": is_random(self.job.weights),
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
        """Outputs of the float module and of the quantised graph, on the samples."""
        from cmcompiler.frontend.outputs import ModelOutputs

        return ModelOutputs.load(self.entry.folder / OUTPUTS)

    @cached_property
    def record(self) -> ExportRecord:
        record = read_json(ExportRecord, self.entry.folder / RECORD)
        place, here = self._below_home(self.job.model), self.job.model
        if record.model == here or not record.model.endswith(place):
            return record
        # Another clone of the project made it: places in its source are here, too.
        there, home = record.model.removesuffix(place), here.removesuffix(place)
        sites = {
            name: replace(site, file=home + site.file.removeprefix(there))
            if site.file is not None and site.file.startswith(there)
            else site
            for name, site in record.call_sites.items()
        }
        return record.model_copy(update={"model": here, "call_sites": sites})

    def _below_home(self, model: str) -> str:
        """A model of a project by its place there, which is the same in every clone."""
        return model if self.home is None else model.removeprefix(f"{self.home}/")

    def inspect(self, folder: Path) -> None:
        """The program and the outputs can be read, and the samples are those of the record."""
        from cmcompiler.frontend.outputs import ModelOutputs
        from cmcompiler.frontend.vectors import Samples
        from cmcompiler.pte.reader import read_program

        record = read_json(ExportRecord, folder / RECORD)
        read_program((folder / PROGRAM).read_bytes())
        samples = Samples.load(folder / SAMPLES)
        ModelOutputs.load(folder / OUTPUTS)
        if len(samples) != record.samples.count or len(samples.inputs) != len(record.inputs):
            raise ValueError(f"{SAMPLES} is not of this export")

    @cached_property
    def _earlier(self) -> Mapping[str, float]:
        """Seconds of the steps of the last export of this model; empty if there is none."""
        records = self._folder.glob(f"{self.name}-*/{RECORD}")
        for file in sorted(records, key=lambda file: file.stat().st_mtime, reverse=True):
            with suppress(Exception):  # a record of another version, or one being written
                return read_json(ExportRecord, file).seconds
        return {}

    def portion_before(self, step: str) -> Portion | None:
        """How much is done as a step begins, if it takes as long as it did last time."""
        seconds = self._earlier
        if step not in seconds:
            return None
        names, whole = list(STEPS), sum(seconds.values())
        done = sum(seconds.get(name, 0.0) for name in names[: names.index(step)])
        if whole == 0:
            return None
        # This computer may be slower now: after the first step, the rate says more.
        return Portion(done / whole, None if done else whole, (done + seconds[step]) / whole)

    def condition(self) -> Condition:
        condition = super().condition()
        if condition is Condition.WHOLE and superseded(self.job, self.record):
            return Condition.ABSENT
        return condition

    @property
    def texts(self) -> list[Path]:
        """Each of its stages as text, if the job asks for that."""
        return sorted((self.entry.folder / INTERMEDIATES).glob("*.txt"))

    def deliver(self, place: Destination | None, wanted: Destination | None = None) -> ExportResult:
        """The result; copies it into the user's folder, and its stages into `wanted`, if given.

        Raises:
            NotOverwritten: files of others are in the way.
            NotWritable, NoSpace: a folder cannot be written.
        """
        if wanted is not None:
            wanted.put({file.name: file for file in self.texts})
        program, samples = self.program, self.samples
        if place is not None:
            stem = slug(self.model)
            place.put({f"{stem}.pte": program, f"{stem}.npz": samples})
            folder = place.folder.absolute()
            program, samples = folder / f"{stem}.pte", folder / f"{stem}.npz"
        record = self.record.model_copy(update={"model": self.model})
        return ExportResult(record, program, samples)

    def make(self, folder: Path) -> None:
        for name in ("record", "outputs"):
            self.__dict__.pop(name, None)
        self._batch.export(self, folder)


@cache
def _installed() -> Mapping[str, str]:
    """Looked up once for all exports."""
    return versions()


def _versions() -> Mapping[str, str]:
    """Versions of the packages for exports; a machine without them takes what others exported with
    the versions that the project pins.
    """
    installed = _installed()
    return installed if installed.keys() >= NEEDED else pinned(Path(), PACKAGES) or installed


def _suffix(job: ExportJob) -> str:
    """Tells the exports of one model for one target from each other that are made together."""
    words = [kind for pattern, kind in job.precision if pattern == "*"][-1:]
    if len(job.precision) > 1:
        words = [hashlib.sha256(str(job.precision).encode()).hexdigest()[:8]]
    if job.parts:
        words.append("parts")
    return "".join(f"-{word}" for word in words)


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
                beside = [other for other in self._stages if other.home == stage.home]
                due = [other for other in beside if other is stage or self._is_due(other)]
                self._outcomes |= self._run(due, folder)
        outcome = self._outcomes[stage.name]
        if isinstance(outcome, CmbuildError):
            raise outcome
        for file in outcome.iterdir():
            shutil.move(file, folder)

    def _is_due(self, stage: ExportStage) -> bool:
        if stage.name in self._outcomes or is_made(stage):
            return False
        remote = self._context.remote
        return remote is None or not remote.holds(stage.address)

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
                step = event["step"]
                self._context.progress(stage.step, step, stage.portion_before(step))
            elif event["event"] == "done":
                outcomes[stage.name] = Path(event["output"])
            elif event["event"] == "error":
                kind = ErrorKind(event["kind"])
                outcomes[stage.name] = compiler_failure(kind, event["error"], event["hint"])

        completed = self._context.processes.run(
            [*self._context.compiler(), "export", *jobs],
            log=self._context.logs / "export.txt",
            timeout=_SECONDS,
            cwd=due[0].home,
            check=False,
            listener=listen,
            name="the export",
        )
        for index, stage in enumerate(due):
            if stage.name not in outcomes:
                outcomes[stage.name] = completed.failure(f"the export of {stage.model}")
            if isinstance(outcomes[stage.name], CmbuildError) and stage.wanted is not None:
                self._keep(staging / f"{index}.{INTERMEDIATES}", stage.wanted)
        return outcomes

    def _keep(self, folder: Path, wanted: Destination) -> None:
        """Keeps the partial results of an export that failed."""
        files = sorted(folder.glob("*.txt"))
        wanted.put({file.name: file for file in files})
        if files:
            place, last = wanted.folder, files[-1].stem.partition("-")[2]
            self._context.note(f"its stages until it failed are in {place}; the last is {last}")
