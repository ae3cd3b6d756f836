"""Data sets that --data names: an .npz, a folder of classes, or a function that yields samples."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cmbuild.cache.fingerprint import Value
from cmbuild.datasets.chunks import Chunk, read_chunks, write_chunks
from cmbuild.datasets.class_folders import ClassFolders
from cmbuild.errors import UsageError
from cmbuild.pipeline.events import StepOutcome, StepState, WorkStep
from cmbuild.process import python_module
from cmbuild.verify.samples import load_samples
from cmcompiler.frontend.source import find_source

if TYPE_CHECKING:
    from cmbuild.pipeline.session import Session
    from cmbuild.pipeline.stages.plan import PlanStage
    from cmcompiler.plan.record import PortRecord

_FUNCTION = re.compile(r"(?P<file>.+\.py)(:(?P<name>\w+))?")
_DEFAULT = "samples"
_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class DataSet:
    """Labelled samples of the user.

    Attributes:
        place: as given: `test.npz`, `photos`, `data.py:samples`.
    """

    place: Path

    @property
    def is_file(self) -> bool:
        """Whether it is an .npz, which runs read themselves."""
        return self._function is None and not self.place.is_dir()

    @property
    def parts(self) -> Value:
        """Fingerprint parts of the data; for a function, its file and those that this imports."""
        if self._function is None:
            return self.place
        file, name = self._function
        return {"files": list(find_source(str(file)).files), "name": name}

    def check(self) -> None:
        """
        Raises:
            UsageError: there is nothing.
        """
        place = self.place if self._function is None else self._function[0]
        if not place.exists():
            raise UsageError(
                message=f"no such file or folder: {place}",
                hint="--data takes an .npz, a folder with one of each class, or FILE.py:FUNCTION",
            )

    def chunks(
        self, session: Session, plan: PlanStage, folder: Path, size: int, limit: int | None
    ) -> list[Chunk]:
        """The chunks in a folder, written now unless they are there.

        Raises:
            UsageError: no samples, fewer than `limit`, or some that the model does not take.
            CmbuildError, CompilerError: reading them failed.
        """
        there = read_chunks(folder, size)
        if there is None:
            self._write(session, plan, folder, size, limit)
            there = read_chunks(folder, size) or []
        count = sum(chunk.count for chunk in there)
        if limit is not None and count < limit:
            message = f"{limit} samples requested, but {self.place} holds {count}"
            raise UsageError(message=message)
        if not there:
            raise UsageError(message=f"{self.place} holds no samples")
        load_samples(there[0].file, plan.record.inputs, str(self.place))
        return there

    @property
    def _function(self) -> tuple[Path, str] | None:
        match = _FUNCTION.fullmatch(str(self.place))
        return None if match is None else (Path(match["file"]), match["name"] or _DEFAULT)

    def _write(
        self, session: Session, plan: PlanStage, folder: Path, size: int, limit: int | None
    ) -> None:
        step = WorkStep("samples", self.place.name, "read")
        session.reporter.begin([step])
        session.reporter.started(step)
        since = time.monotonic()
        if self._function is None:
            record = plan.source.record
            port = self._only(plan.record.inputs)
            folders = ClassFolders.find(self.place, () if record is None else record.classes)
            image = None if record is None else record.image
            write_chunks(folders.samples(port, image), folder, size, limit)
        else:
            words = [str(folder), str(size), *([] if limit is None else [str(limit)])]
            self._call(session, *self._function, words)
        seconds = time.monotonic() - since
        session.reporter.ended(StepOutcome(step, StepState.DONE, step.subject, seconds))
        session.reporter.finished()

    def _only(self, ports: Sequence[PortRecord]) -> PortRecord:
        if len(ports) != 1:
            raise UsageError(
                message=f"{self.place} holds one input a sample, the model takes {len(ports)}",
                hint="--data FILE.npz or FILE.py:FUNCTION",
            )
        return ports[0]

    def _call(self, session: Session, file: Path, name: str, words: list[str]) -> None:
        """In a child process, since it executes the user's code."""
        answers: list[dict[str, Any]] = []
        done = session.context.processes.run(
            [*python_module("cmbuild.datasets.function"), str(file), name, *words],
            log=session.context.logs / "samples.txt",
            timeout=_SECONDS,
            check=False,
            listener=lambda line: answers.append(json.loads(line)),
            name=f"{file}:{name}",
        )
        if not answers:
            raise done.failure(f"{file}:{name}")
        if "error" in answers[0]:
            raise UsageError(message=answers[0]["error"], hint=answers[0]["hint"])
