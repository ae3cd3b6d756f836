"""float: outputs of a float model for samples that its export does not have, in a child process."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from cmbuild.cache.fingerprint import Value
from cmbuild.cache.store import Condition, Entry
from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.stages.plan import PlanStage
from cmbuild.pipeline.stages.stage import Stage, StageKind

if TYPE_CHECKING:
    import numpy.typing as npt

    from cmbuild.pipeline.stages.export import ExportStage
    from cmcompiler.frontend.float_model import FloatSamples

    Arrays = tuple[npt.NDArray[Any], ...]

_REASON = "reason.txt"
_SECONDS = 24 * 3600.0


class FloatStage(Stage):
    """Outputs of the float model, in the user's cache.

    A float model that cannot compute the samples fails no run: the program may well do so.
    """

    kind = StageKind.FLOAT
    verb = "computed"
    shared = True

    def __init__(
        self,
        plan: PlanStage,
        context: WorkContext,
        folder: Path,
        *,
        name: str,
        subject: str,
        parts: Callable[[Path], Sequence[FloatSamples]],
        inputs: Callable[[], Value],
        is_needed: Callable[[], bool] = lambda: True,
        reset: bool = False,
    ) -> None:
        """
        Args:
            plan: of a program that was exported.
            folder: of all outputs of float models, in the cache.
            name, subject: as of Stage.
            parts: the samples; may write some to a folder that is removed afterwards.
            inputs: what they depend on.
            is_needed: whether anyone looks at the outputs; called once the export is there.
            reset: whether the model is in its initial state before each sample.
        """
        self.name = name
        self.subject = subject
        self.after = (plan,)
        self.plan = plan
        self._parts = parts
        self._inputs = inputs
        self._context = context
        self._folder = folder
        self._is_needed = is_needed
        self._reset = reset

    @property
    def _export(self) -> ExportStage:
        export = self.plan.source.export
        assert export is not None
        return export

    def parts(self) -> Mapping[str, Value]:
        model = {name: part for name, part in self._export.parts().items() if name != "target"}
        return {"model": model, "inputs": self._inputs(), "reset": self._reset}

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / f"{self.plan.source.name}-{self.fingerprint[:16]}")

    def condition(self) -> Condition:
        condition = super().condition()
        # What was missing may be there now.
        return Condition.ABSENT if condition is Condition.WHOLE and self.reason else condition

    @property
    def reason(self) -> str | None:
        """Why there are no outputs."""
        file = self.entry.folder / _REASON
        return file.read_text() if file.is_file() else None

    def outputs(self, part: int = 0) -> Arrays | None:
        """For a part, one array for each output; None if there are none."""
        from cmcompiler.frontend.float_model import float_file, float_outputs

        folder = self.entry.folder
        return float_outputs(folder, part) if float_file(folder, part).is_file() else None

    def make(self, folder: Path) -> None:
        if not self._is_needed():
            return
        reason: str | None = "torch is not installed"
        if find_spec("torch") is not None:
            with TemporaryDirectory(dir=self._folder, prefix=".float-") as samples:
                reason = self._compute(folder, Path(samples))
        if reason is not None:
            (folder / _REASON).write_text(reason)

    def summary(self) -> str:
        if self.outputs() is None:
            return f"{self.subject}: {self.reason or 'not needed, since the model has samples'}"
        return self.subject

    def _compute(self, folder: Path, samples: Path) -> str | None:
        """The reason why there are no outputs, if there are none."""
        from cmcompiler.frontend.float_model import FloatJob

        export = self._export
        job = FloatJob(
            export=export.job.model_copy(update={"output": folder}),
            parts=tuple(self._parts(samples)),
            schemes=tuple(
                None if port.scale is None else (port.scale, port.zero_point or 0)
                for port in self.plan.inputs
            ),
            reset=self._reset,
            output=folder,
        )
        file = samples / "job.json"
        file.write_text(job.model_dump_json())
        answers: list[dict[str, str]] = []
        done = self._context.processes.run(
            [*self._context.compiler(), "float", file],
            log=self._context.logs / "float.txt",
            timeout=_SECONDS,
            cwd=export.home,
            check=False,
            listener=lambda line: answers.append(json.loads(line)),
            name="the float model",
        )
        if not answers:
            return done.failure("the float model").message
        return answers[-1].get("error")
