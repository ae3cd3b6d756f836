"""The accuracy of a model on a board over a data set, in chunks that can be taken up again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from cmbuild import paths
from cmbuild.accuracy import Accuracy, EvalResult, EvalRow
from cmbuild.cache.fingerprint import fingerprint
from cmbuild.cache.folders import CacheFolder, remove
from cmbuild.datasets.chunks import Chunk, chunks_of
from cmbuild.datasets.data import DataSet
from cmbuild.errors import UsageError
from cmbuild.files import write
from cmbuild.pipeline.callback import Callback
from cmbuild.pipeline.events import Portion, StepOutcome, StepState, WorkStep
from cmbuild.pipeline.options import option
from cmbuild.pipeline.pipeline import build_folder
from cmbuild.pipeline.request import (
    SIMULATOR,
    BoardChoice,
    BuildRequest,
    ModelChoice,
    RunRequest,
    Sampling,
)
from cmbuild.pipeline.session import Session
from cmbuild.pipeline.stages.float_model import FloatStage
from cmbuild.tasks.run import run as perform
from cmbuild.verify.fidelity import METRIC, top_1, warnings
from cmbuild.verify.intervals import exact
from cmbuild.workers.choice import WorkersChoice
from cmbuild.workers.distribution import distribute
from cmbuild.workers.results import SweepResult
from cmbuild.workers.units import RunUnit
from cmcompiler.frontend.float_model import FloatSamples
from cmcompiler.frontend.sample_origin import SampleOrigin
from cmcompiler.frontend.vectors import Samples

if TYPE_CHECKING:
    from cmbuild.pipeline.stages.simulate import SimulateStage

CHUNK = 250
"""Samples of one start of the image."""


@dataclass(frozen=True, slots=True)
class ChunkTally:
    """Result of one chunk of samples.

    Attributes:
        samples: with a label.
        reference, device: of these, how many got it.
        real: how many got it from the float model; None if unknown.
    """

    samples: int
    reference: int
    device: int
    real: int | None = None

    def __add__(self, other: ChunkTally) -> ChunkTally:
        is_known = self.real is not None and other.real is not None
        return ChunkTally(
            self.samples + other.samples,
            self.reference + other.reference,
            self.device + other.device,
            (self.real or 0) + (other.real or 0) if is_known else None,
        )


_TALLY = TypeAdapter(ChunkTally)


@dataclass(frozen=True, kw_only=True, slots=True)
class DataRequest:
    """An evaluation on labelled samples.

    Attributes:
        data: see DataSet.
        samples: the first ones; all if None.
        until: stop when accuracy is known to plus or minus this share, with 95 % confidence.
        resume: take up what an earlier command with the same request did.
        on: what stands for the board: see RunRequest.
    """

    source: ModelChoice
    board: str
    data: Path
    isa: str | None = None
    toolchain: str | None = None
    samples: int | None = option("Number of samples.", least=1)
    chunk: int = option("Samples of one start of the image.", CHUNK, least=1)
    until: float | None = None
    resume: bool = False
    on: str = SIMULATOR
    build_dir: Path = field(default_factory=paths.default_build)

    @property
    def build(self) -> BuildRequest:
        place = BoardChoice(board=self.board, isa=self.isa, toolchain=self.toolchain)
        return BuildRequest(place=place, source=self.source, build_dir=self.build_dir)

    def run(self, chunk: Chunk) -> RunRequest:
        sampling = Sampling(
            samples=chunk.count, inputs=(chunk.file,), first=chunk.first, is_compared=False
        )
        return RunRequest(build=self.build, sampling=sampling, on=self.on)


def parse_until(text: str) -> float:
    """The share that `0.5%` means.

    Raises:
        UsageError: it is not between 0% and 50%.
    """
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        share = 0.0
    if not text.endswith("%") or not 0 < share < 0.5:
        raise UsageError(
            message=f"--until {text!r} is not a percentage between 0% and 50%", hint="--until 0.5%"
        )
    return share


def evaluate_data(session: Session, request: DataRequest, cluster: WorkersChoice) -> EvalResult:
    """
    Raises:
        UsageError: the data does not fit the model, or has no labels.
        Mismatch: the device's outputs differ from the reference.
        CmbuildError: a stage or a worker failed.
    """
    data = DataSet(request.data)
    data.check()
    # The image is built once, here; its fingerprint says which earlier chunks count.
    stage = session.pipeline.simulate(request.run(Chunk(request.data, 0, 1)))
    perform(session, [stage.runner], [])
    if session.failures.first is not None:
        raise session.failures.first
    kept = _Kept(request, data, stage.runner.fingerprint)
    if not request.resume:
        kept.clear()
    if data.is_file:
        count = _count(stage.reference.labels(), request)
        chunks = chunks_of(request.data, count, request.chunk)
    else:
        plan, folder = stage.reference.plan, kept.data
        chunks = data.chunks(session, plan, folder, request.chunk, request.samples)
    real = _FloatAnswers.of(session, request, stage, chunks)
    tallies = kept.read(len(chunks))
    due = [index for index in range(len(chunks)) if index not in tallies]
    progress = _Progress(session, request, chunks)
    progress.show(tallies)
    if not _enough(tallies, len(chunks), request.until):
        # Workers know no project: the model is what its name stands for.
        named = replace(request, source=stage.source)
        requests = [named.run(chunks[index]) for index in due]
        for index, result in _performed(session, requests, cluster):
            if result.failure is not None:
                raise result.failure
            place = due[index]
            tallies[place] = kept.write(place, _tally(result, real.right(place)))
            progress.show(tallies)
            if _enough(tallies, len(chunks), request.until):
                break
    progress.end(tallies)
    total = _prefix(tallies, request.until)
    return _result(stage.runner.plan.source.name, request, total, real.reasons)


@dataclass(frozen=True, slots=True)
class _FloatAnswers:
    """The float model's answers to the chunks; it is run on all of them once, in one process.

    Attributes:
        stage: None for a program without a float model.
    """

    stage: FloatStage | None
    chunks: Sequence[Chunk]

    @classmethod
    def of(
        cls,
        session: Session,
        request: DataRequest,
        run: SimulateStage,
        chunks: Sequence[Chunk],
    ) -> _FloatAnswers:
        """Raises the failure of the session, if it failed."""
        plan = run.runner.plan
        if plan.source.export is None:
            return cls(None, chunks)
        places = [[chunk.first, chunk.count] for chunk in chunks]
        stage = FloatStage(
            plan,
            session.context,
            CacheFolder.FLOATS.path,
            name=f"{plan.name}-data",
            subject=f"{plan.source.name} on {request.data.name}",
            parts=lambda folder: [
                FloatSamples(file=each.file.absolute(), first=each.first, count=each.count)
                for each in chunks
            ],
            inputs=lambda: {"data": DataSet(request.data).parts, "chunks": places},
        )
        perform(session, [stage], [])
        if session.failures.first is not None:
            raise session.failures.first
        return cls(stage, chunks)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why there are no answers."""
        reason = None if self.stage is None else self.stage.reason
        return () if reason is None else (f"the float model did not compute the data: {reason}",)

    def right(self, index: int) -> int | None:
        """How many labelled samples of a chunk got their label; None if unknown."""
        outputs = None if self.stage is None else self.stage.outputs(index)
        chunk = self.chunks[index]
        labels = Samples.load(chunk.file).labels
        if outputs is None or labels is None:
            return None
        labels = labels[chunk.first : chunk.first + chunk.count]
        share = top_1(outputs[0], labels)
        return 0 if share is None else round(share * int((labels >= 0).sum()))


def _count(labels: Sequence[int] | None, request: DataRequest) -> int:
    if labels is None:
        raise UsageError(
            message=f"{request.data} holds no labels",
            hint="an .npz with input_0, ... and labels, the class of each sample",
        )
    if request.samples is not None and request.samples > len(labels):
        raise UsageError(
            message=f"{request.samples} samples requested, but {request.data} holds {len(labels)}"
        )
    return request.samples or len(labels)


def _performed(
    session: Session, requests: Sequence[RunRequest], cluster: WorkersChoice
) -> Iterator[tuple[int, SweepResult]]:
    if cluster.is_chosen:
        yield from distribute(session, requests, cluster, own_folders=True)
        return
    opened = partial(Session, Callback(None), remote_mode=session.remote_mode)
    for index, each in enumerate(requests):
        yield index, RunUnit.of(each).perform(opened)
        session.interrupts.check()


def _tally(result: SweepResult, real: int | None) -> ChunkTally:
    assert result.result is not None
    accuracy = result.result.accuracy
    if accuracy is None or accuracy.device is None:  # no sample of the chunk has a label
        return ChunkTally(0, 0, 0, real)
    reference, device = (
        round(share * accuracy.samples) for share in (accuracy.reference, accuracy.device)
    )
    return ChunkTally(accuracy.samples, reference, device, real)


def _prefix(tallies: dict[int, ChunkTally], until: float | None) -> ChunkTally:
    """The chunks that count: from the first, as far as all are there, until that is enough.

    So the result depends neither on the number of workers nor on their order.
    """
    total = ChunkTally(0, 0, 0, 0)
    for index in range(len(tallies)):
        if index not in tallies or _is_known(total, until):
            break
        total += tallies[index]
    return total


def _is_known(total: ChunkTally, until: float | None) -> bool:
    if until is None or total.samples == 0:
        return False
    low, high = exact(total.device, total.samples)
    return (high - low) / 2 <= until


def _enough(tallies: dict[int, ChunkTally], chunks: int, until: float | None) -> bool:
    return len(tallies) == chunks or _is_known(_prefix(tallies, until), until)


class _Kept:
    """Tallies of chunks on disk: a file each, which appears whole."""

    def __init__(self, request: DataRequest, data: DataSet, image: str) -> None:
        asked = {"chunk": request.chunk, "all": request.samples, "on": request.on}
        key = fingerprint(image=image, data=data.parts, **asked)
        self._root = build_folder(request.build)
        self._folder = self._root / f"eval-{key[:16]}"

    def read(self, chunks: int) -> dict[int, ChunkTally]:
        tallies = {}
        for index in range(chunks):
            try:
                tallies[index] = _TALLY.validate_json(self._file(index).read_bytes())
            except (FileNotFoundError, ValidationError):
                continue
        return tallies

    @property
    def data(self) -> Path:
        """Folder for the samples."""
        return self._folder / "data"

    def clear(self) -> None:
        remove(self._folder, self._root)

    def write(self, index: int, tally: ChunkTally) -> ChunkTally:
        write(self._file(index), _TALLY.dump_json(tally).decode())
        return tally

    def _file(self, index: int) -> Path:
        return self._folder / f"{index:06}.json"


class _Progress:
    """One step for all chunks, with the time that is left."""

    def __init__(self, session: Session, request: DataRequest, chunks: Sequence[Chunk]) -> None:
        self._reporter = session.reporter
        self._step = WorkStep("evaluate", f"{request.data.name} on {request.board}", "ran")
        self._chunks = chunks
        self._since = time.monotonic()
        self._before: int | None = None
        self._reporter.begin([self._step])
        self._reporter.started(self._step)

    def show(self, tallies: dict[int, ChunkTally]) -> None:
        done, all = self._samples(tallies), sum(chunk.count for chunk in self._chunks)
        if self._before is None:
            self._before = done
        left = None
        if done > self._before:
            left = (all - done) * (time.monotonic() - self._since) / (done - self._before)
        self._reporter.progress(self._step, f"{done:,} of {all:,}", Portion(done / all, left))

    def end(self, tallies: dict[int, ChunkTally]) -> None:
        seconds = time.monotonic() - self._since
        subject = f"{self._samples(tallies):,} samples on {self._step.subject.split()[-1]}"
        self._reporter.ended(StepOutcome(self._step, StepState.DONE, subject, seconds))
        self._reporter.finished()

    def _samples(self, tallies: dict[int, ChunkTally]) -> int:
        return sum(self._chunks[index].count for index in tallies)


def _result(
    model: str, request: DataRequest, total: ChunkTally, reasons: tuple[str, ...]
) -> EvalResult:
    if total.samples == 0:
        raise UsageError(message=f"no sample of {request.data} has a label")
    right = {"float": total.real, "reference": total.reference, "device": total.device}
    rows = [
        EvalRow(
            form=form,
            accuracy=good / total.samples,
            snr_db=None,
            agreement=None,
            interval=exact(good, total.samples),
        )
        for form, good in right.items()
        if good is not None
    ]
    accuracy = Accuracy(
        metric=METRIC,
        float=None if total.real is None else total.real / total.samples,
        reference=total.reference / total.samples,
        device=total.device / total.samples,
        samples=total.samples,
    )
    return EvalResult(
        model=model,
        board=request.board,
        samples=total.samples,
        inputs=SampleOrigin.DATA,
        detail=request.data.name,
        sequence=None,
        forms=tuple(rows),
        layers=(),
        warnings=(*reasons, *warnings(accuracy, None, None, (), ())),
    )
