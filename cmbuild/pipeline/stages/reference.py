"""reference: the right outputs for the samples of a run, computed on the host."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from cmbuild import text
from cmbuild.cache.fingerprint import Value
from cmbuild.cache.store import Entry
from cmbuild.errors import UsageError
from cmbuild.pipeline.events import Portion, StepProgress, no_progress
from cmbuild.pipeline.request import Sampling
from cmbuild.pipeline.stages.float_model import FloatStage
from cmbuild.pipeline.stages.plan import PlanStage
from cmbuild.pipeline.stages.stage import Stage, StageKind
from cmcompiler.frontend.sample_origin import SampleOrigin

if TYPE_CHECKING:
    from cmbuild.pipeline.context import WorkContext
    from cmbuild.verify.fidelity import FidelityBasis
    from cmcompiler.frontend.float_model import FloatSamples
    from cmcompiler.frontend.job import SamplesRecord
    from cmcompiler.frontend.vectors import Samples
    from cmcompiler.ir.reference import Array

OUTPUTS = "outputs.npz"


class TooFewSamples(UsageError):
    template = "{count} samples requested, but the inputs hold {there}"


class ReferenceStage(Stage):
    """Outputs of the references of all ops; in the user's cache, since they depend on no board."""

    kind = StageKind.REFERENCE
    verb = "computed"
    shared = True
    travels = True
    endings: ClassVar[tuple[str, str]] = "", ""
    """Ends of the name and of the subject."""

    real: FloatStage | None = None
    """Outputs of the float model for the same samples, where those of the export do not do."""

    def __init__(
        self,
        plan: PlanStage,
        sampling: Sampling,
        seed: int,
        folder: Path,
        progress: StepProgress = no_progress,
    ) -> None:
        """
        Args:
            plan: describes the inputs.
            seed: of synthetic inputs.
            folder: of all references, in the cache.
            progress: shows how many samples have been computed.
        """
        self.name = plan.name + self.endings[0]
        self.subject = plan.source.name + self.endings[1]
        self.after = (plan,)
        self.plan = plan
        self._sampling = sampling
        self._seed = seed
        self._progress = progress
        self._folder = folder

    @property
    def reset(self) -> bool:
        """Whether mutable buffers are reset before each sample."""
        return self._sampling.reset

    @cached_property
    def samples(self) -> Samples:
        """The samples that the program runs on."""
        from cmbuild.verify.samples import as_taken, exported_samples

        ports = self.plan.record.inputs
        if self._given is not None:
            return as_taken(self._given, ports)
        exported = self._exported
        return exported_samples(exported, ports, self._count(exported), self._seed)

    @cached_property
    def _given(self) -> Samples | None:
        """The samples in the user's files, before they are quantised; None without any."""
        from cmbuild.verify.samples import given_samples
        from cmcompiler.frontend.vectors import Samples

        sampling, source = self._sampling, self.plan.source
        if not sampling.inputs:
            return None
        image = source.record.image if source.record else None
        samples = given_samples(sampling.inputs, self.plan.record.inputs, image)
        first, there = sampling.first, len(samples) - sampling.first
        count = sampling.count(there, there)
        if count > there:
            raise TooFewSamples(count=count, there=there)
        part = slice(first, first + count)
        labels = None if samples.labels is None else samples.labels[part]
        return Samples(tuple(stack[part] for stack in samples.inputs), labels)

    @property
    def title(self) -> str:
        """Title of the stage, for people."""
        return "the given inputs"

    def labels(self) -> Sequence[int] | None:
        """Labels of all samples in the user's file; None if it has none."""
        from cmbuild.verify.samples import user_samples

        labels = user_samples(self._sampling.inputs, self.plan.record.inputs, None).labels
        return None if labels is None else list(map(int, labels))

    @property
    def is_chosen(self) -> bool:
        """Whether the user chose these samples, or their number."""
        return bool(self._sampling.inputs) or self._sampling.samples is not None

    @property
    def is_exported(self) -> bool:
        """Whether the samples are those of an export, with random ones if more are asked for."""
        return not self._sampling.inputs and self.plan.source.export is not None

    @property
    def added(self) -> int:
        """How many random samples follow those of an export."""
        if not self.is_exported or self._exported is None:
            return 0
        return max(0, len(self.samples) - len(self._exported))

    @cached_property
    def real_inputs(self) -> tuple[Array, ...]:
        """The samples before they are quantised."""
        if self._given is not None:
            return self._given.inputs
        if self._exported is None:
            return self.samples.inputs
        return tuple(stack[: len(self.samples)] for stack in self._exported.inputs)

    @cached_property
    def real_outputs(self) -> tuple[Array, ...] | None:
        """Outputs of the float model for the first samples or all; None if unknown."""
        export = self.plan.source.export
        if self.real is not None:
            return self.real.outputs()
        # The float model's buffers carry over from one sample to the next.
        if export is None or not self.is_exported or (self.reset and self.plan.record.states):
            return None
        return tuple(stack[: len(self.samples)] for stack in export.outputs.real)

    @cached_property
    def basis(self) -> FidelityBasis | None:
        """The basis of a comparison with the float model; None for a program without one."""
        from cmbuild.verify.fidelity import FidelityBasis

        record, ports = self.plan.source.record, self.plan.record.outputs
        if record is None:
            return None
        names = record.outputs if len(record.outputs) == len(ports) else ("",) * len(ports)
        origin, detail, count = self._origin(record.samples)
        return FidelityBasis(
            origin,
            detail,
            count if record.samples.is_sequence else None,
            tuple(name or port.name for name, port in zip(names, ports, strict=True)),
            record.holds_classes,
        )

    def _origin(self, exported: SamplesRecord) -> tuple[SampleOrigin, str, int]:
        """Where the samples come from, and how many there are."""
        if self._given is not None:
            return SampleOrigin.INPUT, "", len(self._given)
        return exported.origin, exported.detail, exported.count

    @cached_property
    def _exported(self) -> Samples | None:
        from cmcompiler.frontend.vectors import Samples

        export = self.plan.source.export
        return None if export is None else Samples.load(export.samples)

    def _count(self, exported: Samples | None) -> int:
        return self._sampling.count(1 if exported is None else len(exported), 1)

    @cached_property
    def outputs(self) -> tuple[Array, ...]:
        """One array for each output, shape (samples, *y.shape)."""
        return _outputs(self.entry.folder)

    def inspect(self, folder: Path) -> None:
        """The outputs are those of the plan, for each sample."""
        ports, count = self.plan.record.outputs, len(self.samples)
        for array, port in zip(_outputs(folder), ports, strict=True):
            if (array.shape, array.dtype.name) != ((count, *port.shape), port.dtype):
                raise ValueError(f"{port.name} is {array.dtype} {array.shape}")

    def parts(self) -> Mapping[str, Value]:
        import numpy as np

        return self.plan.source.parts() | {
            "inputs": _digests(self.samples.inputs),
            "reset": self.reset,
            "numpy": np.__version__,
        }

    def beside_float(self, context: WorkContext, folder: Path, *, is_own: bool = False) -> None:
        """Has the float model compute the samples, which are the user's.

        Args:
            folder: of all outputs of float models, in the cache.
            is_own: whether to do so though the model has samples of its own.
        """

        def is_needed() -> bool:
            record = self.plan.source.record
            return is_own or record is None or record.samples.origin is not SampleOrigin.SAMPLES

        def parts(folder: Path) -> list[FloatSamples]:
            from cmcompiler.frontend.float_model import FloatSamples
            from cmcompiler.frontend.vectors import Samples

            file = folder / "samples.npz"
            Samples(self.real_inputs).save(file)
            return [FloatSamples(file=file.absolute(), count=len(self.samples))]

        self.real = FloatStage(
            self.plan,
            context,
            folder,
            name=self.name,
            subject=self.subject,
            parts=parts,
            inputs=lambda: _digests(self.real_inputs),
            is_needed=is_needed,
            reset=self.reset,
        )

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / f"{self.plan.source.name}-{self.fingerprint[:16]}")

    def make(self, folder: Path) -> None:
        import numpy as np

        from cmcompiler.ir.reference import evaluate_all

        graph = self.plan.source.graph()
        with self.plan.source.told(), self.plan.source.ops.registered():
            count, results = len(self.samples), []
            for each in evaluate_all(graph, self.samples, self.reset):
                results.append(each.outputs)
                done = len(results)
                self._progress(
                    self.step,
                    f"{done:,} of {count:,}",
                    Portion(done / count, next=(done + 1) / count),
                )
        stacks = {
            f"output_{index}": np.stack(arrays)
            for index, arrays in enumerate(zip(*results, strict=True))
        }
        np.savez(folder / OUTPUTS, **stacks)

    def summary(self) -> str:
        return f"{self.subject}, {text.plural(len(self.samples), 'sample')}"


def _outputs(folder: Path) -> tuple[Array, ...]:
    from cmcompiler.arrays import read_arrays

    arrays = read_arrays(folder / OUTPUTS)
    return tuple(arrays[f"output_{index}"] for index in range(len(arrays)))


def _digests(stacks: Sequence[Array]) -> list[str]:
    return [
        f"{stack.dtype}{stack.shape}{hashlib.sha256(stack.tobytes()).hexdigest()}"
        for stack in stacks
    ]
