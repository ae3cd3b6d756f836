"""Outputs of a model's float module for samples that its export does not have.

Importing this module does not import torch; `compute` imports nothing heavier.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cmcompiler.arrays import read_arrays
from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.copies import copied, in_eval_mode
from cmcompiler.frontend.job import ExportJob, Strict
from cmcompiler.frontend.model import is_quantization_aware
from cmcompiler.frontend.outputs import run_on
from cmcompiler.frontend.quantized_op import QUANTIZED
from cmcompiler.frontend.source import find_source
from cmcompiler.frontend.vectors import Samples
from cmcompiler.usercode import import_folder

if TYPE_CHECKING:
    import torch


class FloatSamples(Strict):
    """Consecutive samples of a file, before which the module is in its initial state."""

    file: Path
    first: int = 0
    count: int


class FloatJob(Strict):
    """A float module and the inputs to run it on.

    Attributes:
        export: the job that exports the same model.
        schemes: scale and zero point of each input whose samples may be quantised; else None.
        reset: whether the module is in its initial state before each sample.
        output: folder for one file for each part: see `float_file`.
    """

    export: ExportJob
    parts: tuple[FloatSamples, ...]
    schemes: tuple[tuple[float, int] | None, ...]
    reset: bool = False
    output: Path


def float_file(folder: Path, part: int) -> Path:
    """Outputs for a part: output_0, …, each of shape (samples, *y.shape)."""
    return folder / f"{part}.npz"


def float_outputs(folder: Path, part: int) -> tuple[npt.NDArray[Any], ...]:
    """The outputs that `compute` wrote."""
    arrays = read_arrays(float_file(folder, part))
    return tuple(arrays[f"output_{index}"] for index in range(len(arrays)))


def compute(job: FloatJob) -> None:
    """Fills the job's folder.

    Raises:
        CompilerError: of the kind INVALID for a model that cannot be read, or samples that it does
            not take.
    """
    import torch

    torch.set_num_threads(1)
    if job.export.torch_ops is not None:
        import_folder(job.export.torch_ops, QUANTIZED)
    model = find_source(job.export.model).load(job.export.seed, job.export.weights)
    job.output.mkdir(parents=True, exist_ok=True)
    for index, part in enumerate(job.parts):
        saved = Samples.load(part.file)
        end = part.first + part.count
        inputs = [
            _real(stack[part.first : end], example, scheme)
            for stack, example, scheme in zip(
                saved.inputs, model.example_inputs, job.schemes, strict=True
            )
        ]
        module, samples = float_module(model.module), Samples(tuple(inputs))
        outputs = run_on(module, samples, most=None, reset=job.reset)
        named = {f"output_{number}": stack for number, stack in enumerate(outputs)}
        np.savez(float_file(job.output, index), **named)


def float_module(module: torch.nn.Module) -> torch.nn.Module:
    """A copy that computes in float, in eval mode."""
    copy: Any = copied(module)
    if is_quantization_aware(copy):
        copy.rounding = False
    return in_eval_mode(copy)


def _real(
    stack: npt.NDArray[Any], example: torch.Tensor, scheme: tuple[float, int] | None
) -> npt.NDArray[Any]:
    """Samples as the float module takes them: scaled back if they are quantised."""
    import torch

    wanted = torch.empty(0, dtype=example.dtype).numpy().dtype
    if stack.dtype.kind in "iu" and wanted.kind == "f" and scheme is not None:
        scale, zero_point = scheme
        stack = (stack.astype(np.float64) - zero_point) * scale
    elif not np.can_cast(stack.dtype, wanted, "same_kind"):
        raise InvalidRequest(f"the samples are {stack.dtype}, the model takes {wanted}")
    return stack.astype(wanted).reshape(len(stack), *example.shape)
