"""Runs export jobs; each makes a folder with a program, its samples and a record.

Importing this module does not import torch; running a job does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from cmcompiler.errors import InvalidRequest, MissingPackage
from cmcompiler.frontend import job as records
from cmcompiler.frontend.calibration import read_calibration
from cmcompiler.frontend.call_sites import CallSite
from cmcompiler.frontend.copies import in_eval_mode
from cmcompiler.frontend.fidelity.record import ProgramFidelity
from cmcompiler.frontend.float_model import float_module
from cmcompiler.frontend.holdout import Holdout
from cmcompiler.frontend.intermediates import Intermediates, Note, ignore
from cmcompiler.frontend.job import ExportJob, ExportRecord
from cmcompiler.frontend.late_imports import delay
from cmcompiler.frontend.model import Model, Task
from cmcompiler.frontend.outputs import MOST, ModelOutputs, run_on
from cmcompiler.frontend.portability import refuse_lacking
from cmcompiler.frontend.quantized import Quantized
from cmcompiler.frontend.quantized_op import QUANTIZED
from cmcompiler.frontend.quiet import quiet
from cmcompiler.frontend.sample_origin import SampleOrigin
from cmcompiler.frontend.source import find_source
from cmcompiler.frontend.vectors import Samples
from cmcompiler.installation import pip_command
from cmcompiler.target import Target
from cmcompiler.usercode import ITSELF, import_folder, located, unsupported

if TYPE_CHECKING:
    import torch

    from cmcompiler.frontend.lowering import Lowered

    Inputs = tuple[torch.Tensor, ...]

_FEW_INPUTS = 64
"""Calibration inputs that the float module is called on before they are divided."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A quantised model, shared by jobs for several targets."""

    model: Model
    quantized: Quantized
    outputs: ModelOutputs
    calibration: records.CalibrationRecord
    seconds: dict[str, float]
    intermediates: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Exporter:
    """Runs jobs one after the other; jobs of one model for several targets quantise it once.

    Attributes:
        step: called with the name of each of cmcompiler.frontend.job.STEPS as it begins.
        verbose: lets the libraries log and warn.
    """

    step: Callable[[str], None]
    verbose: bool = False
    _prepared: dict[ExportJob, _Prepared] = field(default_factory=dict)

    def run(self, job: ExportJob) -> ExportRecord:
        """Makes the job's folder, atomically.

        Raises:
            CompilerError: INVALID for what the job names, UNSUPPORTED for a model that torch.export
                or the backend cannot take, MISSING for a package that is not installed.
        """
        target = Target.parse(job.target)
        source = find_source(job.model)
        seconds: dict[str, float] = {}
        with quiet(not self.verbose), _missing_packages():
            with self._timed("import", seconds):
                delay()
                import torch

                # Sums depend on the number of threads, and weights and ranges depend on sums.
                torch.set_num_threads(1)
                if job.torch_ops is not None:
                    import_folder(job.torch_ops, QUANTIZED)
            texts = job.output.with_name(f"{job.output.name}.{records.INTERMEDIATES}")
            common = job.model_copy(update={"target": "", "output": Path()})
            prepared = self._prepared.get(common)
            if prepared is None:
                stages = Intermediates(texts)
                note = stages.note if job.intermediates else ignore
                prepared = self._prepare(job, source.load, note)
                self._prepared[common] = replace(prepared, intermediates=dict(stages.texts))
            else:
                stages = Intermediates(texts, prepared.intermediates)
                note = stages.note if job.intermediates else ignore
            lines = prepared.model.lines
            with self._timed("lower", seconds), located(lines), unsupported(ITSELF):
                from cmcompiler.frontend.fidelity.check import fidelity_of
                from cmcompiler.frontend.lowering import lower_with_nodes

                lowered = lower_with_nodes(prepared.quantized, target, note)
            with self._timed("compare", seconds), located(lines), unsupported(ITSELF):
                model, real = prepared.model, prepared.quantized.real
                fidelity = fidelity_of(lowered, real, model.samples, prepared.outputs.real)
        if job.portable:
            refuse_lacking(lowered.lacking)
        record = _record(job, prepared, lowered, fidelity, seconds | prepared.seconds)
        self.step("write")
        with _replaced(job.output) as folder:
            (folder / records.PROGRAM).write_bytes(lowered.program)
            prepared.model.samples.save(folder / records.SAMPLES)
            prepared.outputs.save(folder / records.OUTPUTS)
            (folder / records.RECORD).write_text(record.model_dump_json(indent=2) + "\n")
            if texts.exists():
                texts.rename(folder / records.INTERMEDIATES)
        return record

    def _prepare(
        self, job: ExportJob, load: Callable[[int, Path | None], Model], note: Note
    ) -> _Prepared:
        seconds: dict[str, float] = {}
        with self._timed("load", seconds):
            model = load(job.seed, job.weights)
            calibration = model.calibration
            if job.calibration is not None:
                calibration = read_calibration(job.calibration, model.example_inputs)
        with self._timed("quantize", seconds):
            # These take long to import, so Python alone has shown the user's own errors first.
            from cmcompiler.frontend.preparation import check_calibration
            from cmcompiler.frontend.quantization import quantize

            is_real = job.calibration is not None or model.has_real_calibration
            held_out = 0
            if is_real and model.samples_origin is SampleOrigin.SYNTHETIC:
                check_calibration(calibration, model.example_inputs)
                is_sequence = _is_stateful(model)
                results = () if is_sequence else _results(model.module, calibration)
                parts = Holdout.of(calibration, is_sequence, results)
                calibration, held_out = parts.calibrating, parts.held_out
                model = _judged_by(model, parts)
            with located(model.lines), unsupported(ITSELF):
                quantized = quantize(
                    model.module,
                    model.example_inputs,
                    calibration,
                    job.portable,
                    sensitivity=job.sensitivity,
                    refinement=job.refinement,
                    precision=(*model.precision, *job.precision),
                    parts=job.parts,
                    note=note,
                )
        with self._timed("evaluate", seconds), located(model.lines), unsupported(ITSELF):
            outputs = _evaluate(model, quantized)
        detail = job.calibration.name if job.calibration else model.calibration_detail
        seen = records.CalibrationRecord(
            samples=len(calibration),
            detail=detail,
            held_out=held_out,
            refinements=quantized.refinements,
        )
        return _Prepared(model, quantized, outputs, seen, seconds)

    @contextmanager
    def _timed(self, name: str, seconds: dict[str, float]) -> Iterator[None]:
        self.step(name)
        start = perf_counter()
        yield
        seconds[name] = round(perf_counter() - start, 3)


def _evaluate(model: Model, quantized: Quantized) -> ModelOutputs:
    from cmcompiler.frontend.fidelity.ties import orders_of
    from cmcompiler.frontend.layouts import channels_last

    most = None if quantized.is_sequence else MOST
    with orders_of(quantized.real.graph.graph):
        real = run_on(float_module(model.module), model.samples, most=most)
        graph = deepcopy(quantized.program).module(check_guards=False)
        return ModelOutputs(real, run_on(graph, model.samples, channels_last, most))


def _is_stateful(model: Model) -> bool:
    from cmcompiler.frontend.buffers import mutable_buffers

    # A module that fails is refused where it is exported, which names the user's line.
    with suppress(Exception):
        return bool(mutable_buffers(in_eval_mode(model.module), model.example_inputs))
    return False


def _results(module: torch.nn.Module, inputs: Sequence[Inputs]) -> Sequence[Inputs]:
    """The float module's tensors for each of a few inputs; of many, hardly one exceeds the others.

    Nothing where the module fails: the export names the user's line.
    """
    import torch
    from torch.utils._pytree import tree_leaves

    if len(inputs) > _FEW_INPUTS:
        return ()
    called = float_module(module)
    results = []
    with suppress(Exception), torch.no_grad():
        for each in inputs:
            leaves = tree_leaves(called(*(tensor.clone() for tensor in each)))
            results.append(tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor)))
    return results if len(results) == len(inputs) else ()


def _judged_by(model: Model, parts: Holdout) -> Model:
    """The model with calibration inputs instead of made-up samples."""
    arrays = [[tensor.numpy() for tensor in inputs] for inputs in parts.judging]
    return replace(
        model,
        samples=Samples.stack(arrays),
        samples_origin=SampleOrigin.CALIBRATION,
        samples_detail="held out" if parts.held_out else "which also calibrated",
    )


def _record(
    job: ExportJob,
    prepared: _Prepared,
    lowered: Lowered,
    fidelity: ProgramFidelity,
    seconds: dict[str, float],
) -> ExportRecord:
    model, quantized = prepared.model, prepared.quantized
    inputs = tuple(
        records.InputRecord(
            name=name, shape=tuple(tensor.shape), dtype=str(tensor.dtype).removeprefix("torch.")
        )
        for name, tensor in zip(quantized.input_names, model.example_inputs, strict=True)
    )
    return ExportRecord(
        model=job.model,
        target=job.target,
        seed=job.seed,
        weights=model.weights,
        versions=dict(records.versions()),
        task=model.task,
        classes=model.classes,
        image=model.image,
        inputs=inputs,
        outputs=quantized.output_names,
        holds_classes=_holds_classes(model.task, quantized),
        notes=model.notes,
        calibration=prepared.calibration,
        samples=records.SamplesRecord(
            count=len(model.samples),
            labels=model.samples.labels is not None,
            origin=model.samples_origin,
            detail=model.samples_detail,
            is_sequence=quantized.is_sequence,
        ),
        float_operators=quantized.float_operators,
        instructions={
            index: name for index, name in lowered.nodes.items() if name in quantized.call_sites
        },
        lacking=lowered.lacking,
        layers=quantized.layers,
        precision=(*model.precision, *job.precision),
        parts=quantized.parts,
        call_sites=_located(quantized.call_sites, find_source(job.model).definition),
        fidelity=fidelity,
        seconds=seconds,
    )


def _holds_classes(task: Task, quantized: Quantized) -> bool:
    if task is Task.UNKNOWN:
        return quantized.holds_classes
    return task is Task.CLASSIFICATION and len(quantized.output_names) == 1


def _located(
    sites: Mapping[str, CallSite], definition: tuple[str, int] | None
) -> dict[str, CallSite]:
    """Call sites, with the line that makes the model for those in libraries only."""
    if definition is None:
        return dict(sites)
    file, line = definition
    return {
        name: site if site.file is not None else replace(site, file=file, line=line)
        for name, site in sites.items()
    }


@contextmanager
def _missing_packages() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise MissingPackage(f"exporting: {error}", pip_command("export")) from error


@contextmanager
def _replaced(folder: Path) -> Iterator[Path]:
    """A new folder that replaces the given one on success."""
    new, old = (folder.with_name(f".{folder.name}.{os.getpid()}.{role}") for role in ("new", "old"))
    try:
        new.mkdir(parents=True)
        yield new
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    except OSError as error:
        raise InvalidRequest(f"{folder} cannot be written: {error.strerror}") from error
    finally:
        for rest in (new, old):
            shutil.rmtree(rest, ignore_errors=True)
