"""Export jobs and their records. Does not import torch, so callers start fast."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import cmcompiler
from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.calibration import calibration_files
from cmcompiler.frontend.call_sites import CallSite
from cmcompiler.frontend.fidelity.record import ProgramFidelity
from cmcompiler.frontend.images import ImageInput
from cmcompiler.frontend.model import Task
from cmcompiler.frontend.parts import ModelParts
from cmcompiler.frontend.precision import Pattern
from cmcompiler.frontend.quantized import FloatOperator, OperatorCost, Refinement
from cmcompiler.frontend.sample_origin import SampleOrigin
from cmcompiler.frontend.source import find_source
from cmcompiler.frontend.weights import Origin, Weights, is_random
from cmcompiler.target import Target

PROGRAM = "model.pte"
RECORD = "export.json"
SAMPLES = "samples.npz"
OUTPUTS = "outputs.npz"
INTERMEDIATES = "intermediates"
"""A folder; while the export is at work, beside the output: `<output>.intermediates`."""
STEPS = ("import", "load", "quantize", "evaluate", "lower", "compare", "write")
"""Steps of an export, in order."""
MAX_SEED = (1 << 32) - 1

# Parts of the package that the frontend imports; a test compares this with the imports.
_SHARED_PACKAGES = ("decode", "importer", "ir", "ops", "pte", "tflite")
_SHARED = ("arrays.py", "isa.py", "target.py", "usercode.py")

PACKAGES = ("torch", "torchvision", "torchao", "executorch", "tosa-tools", "scikit-learn")
"""Distributions that exports may depend on."""
NEEDED = {"torch", "executorch"}
"""The packages among these without which there is no export."""


class Strict(BaseModel):
    """Frozen; refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ExportJob(Strict):
    """One export.

    Attributes:
        model: `mv2`, `path.py[:callable]` or `path.pt2`.
        target: a CPU, `cortex-m55`.
        seed: of random weights, training and synthetic inputs.
        weights: a state dict that replaces the model's weights.
        calibration: a file or folder that replaces the model's calibration inputs.
        portable: keep to operators that ExecuTorch's runtime has.
        sensitivity: measure what quantising each operator alone costs.
        refinement: improve on the quantizer's own ranges, weights and biases where that pays.
        precision: of modules; it comes after what the model itself says.
        parts: measure what each rounding of its parts costs alone.
        torch_ops: a folder of modules that register operators with torch: see cmcompiler.extension.
        intermediates: write each stage as text, also of an export that fails.
        output: the folder to make; an existing one is replaced.
    """

    model: str
    target: str = "cortex-m55"
    seed: int = Field(default=0, ge=0, le=MAX_SEED)
    weights: Path | None = None
    calibration: Path | None = None
    portable: bool = False
    sensitivity: bool = False
    refinement: bool = True
    precision: tuple[Pattern, ...] = ()
    parts: bool = False
    torch_ops: Path | None = None
    intermediates: bool = False
    output: Path


class CalibrationRecord(Strict):
    """The inputs that activation ranges were observed on.

    Attributes:
        samples: that calibrated.
        held_out: others of the calibration inputs, which judge the program.
        refinements: what improved on the quantizer's own settings, if anything did.
    """

    samples: int
    detail: str
    held_out: int = 0
    refinements: tuple[Refinement, ...] = ()


class SamplesRecord(Strict):
    """Contents of samples.npz.

    Attributes:
        detail: describes them for people; empty for the model's own.
        is_sequence: whether the model carries state from one to the next.
    """

    count: int
    labels: bool
    origin: SampleOrigin
    detail: str = ""
    is_sequence: bool = False


class InputRecord(Strict):
    """An input of the program, under its name in the module's forward()."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class ExportRecord(Strict):
    """The record of an export: export.json beside model.pte, samples.npz and outputs.npz.

    Attributes:
        versions: of the packages that made the program.
        classes: names of a classifier's outputs, if any.
        outputs: keys and fields of what the module returns, "" for outputs without a name.
        holds_classes: whether its only output has one number a class.
        notes: what people should know of how the model was read.
        float_operators: what the quantizer left in float.
        lacking: operators of the program that ExecuTorch's own runtime does not have.
        layers: the most sensitive first, if the job asks for that.
        call_sites: of the nodes of the exported graph, by name.
        instructions: nodes by the index of the program's instruction that they became.
        precision: of its modules, by patterns of their paths; the last that matches counts.
        parts: that may differ in precision, if the job asks for them.
        fidelity: of the program's layers to the float model's.
        seconds: by step; all else is the same for every export of a job.
    """

    model: str
    target: str
    seed: int
    weights: Weights
    versions: dict[str, str]
    task: Task
    classes: tuple[str, ...]
    image: ImageInput | None
    inputs: tuple[InputRecord, ...]
    outputs: tuple[str, ...]
    holds_classes: bool = False
    notes: tuple[str, ...] = ()
    calibration: CalibrationRecord
    samples: SamplesRecord
    float_operators: tuple[FloatOperator, ...]
    lacking: tuple[str, ...]
    layers: tuple[OperatorCost, ...]
    call_sites: dict[str, CallSite]
    instructions: dict[int, str]
    precision: tuple[Pattern, ...] = ()
    parts: ModelParts | None = None
    fidelity: ProgramFidelity
    seconds: dict[str, float]


_Kind = TypeVar("_Kind", bound=Strict)


def read(kind: type[_Kind], path: Path) -> _Kind:
    """A job or record from its JSON file.

    Raises:
        InvalidRequest: unreadable, or the first invalid key.
    """
    try:
        return kind.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InvalidRequest(f"{path}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise InvalidRequest(f"{path}: {key + ': ' if key else ''}{first['msg']}") from None


def versions() -> Mapping[str, str]:
    """Versions of the installed packages that an export depends on."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def dependencies(job: ExportJob) -> tuple[Path, ...]:
    """All files that the result of a job depends on: model, weights, calibration, compiler.

    Raises:
        InvalidRequest: the job names something that does not exist.
    """
    Target.parse(job.target)
    weights = None if is_random(job.weights) else job.weights
    if weights is not None and not weights.is_file():
        raise InvalidRequest(f"no such file: {weights}")
    package = Path(cmcompiler.__file__).parent
    return (
        *find_source(job.model).files,
        *([weights] if weights else []),
        *(calibration_files(job.calibration) if job.calibration else []),
        *(sorted(job.torch_ops.rglob("*.py")) if job.torch_ops else []),
        *sorted(Path(__file__).parent.rglob("*.py")),
        *(file for name in _SHARED_PACKAGES for file in sorted((package / name).rglob("*.py"))),
        *(package / name for name in _SHARED),
    )


def superseded(job: ExportJob, record: ExportRecord) -> bool:
    """Whether an export lacked published weights that have since been downloaded."""
    if is_random(job.weights):
        return False
    expected = find_source(job.model).expects_weights
    return record.weights.source is Origin.RANDOM and expected is not None and expected.is_file()
