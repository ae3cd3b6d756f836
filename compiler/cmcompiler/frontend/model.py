"""Input of the compiler: a module with its data, and where it comes from."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cmcompiler.frontend.images import ImageInput
from cmcompiler.frontend.precision import Pattern
from cmcompiler.frontend.sample_origin import SampleOrigin
from cmcompiler.frontend.vectors import Samples
from cmcompiler.frontend.weights import Weights

if TYPE_CHECKING:
    import torch


class Task(str, Enum):
    """Meaning of the outputs."""

    CLASSIFICATION = "classification"
    """One score per class."""
    RECONSTRUCTION = "reconstruction"
    """A copy of the input; its error detects anomalies."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False, slots=True)
class Model:
    """A PyTorch module ready for export, with its data.

    Attributes:
        module: in eval mode.
        example_inputs: set the program's shapes and dtypes.
        calibration: inputs to observe activation ranges on.
        calibration_detail: describes them for people.
        has_real_calibration: False if these are made up, or only the example.
        samples: inputs to verify and evaluate the program with.
        samples_origin: whether they are the model's own or made up.
        samples_detail: describes made-up ones for people.
        weights: where the module's weights come from.
        task: what its outputs mean.
        classes: names of a classifier's outputs, if any.
        image: how to make the input from a picture, if it is an image.
        notes: what people should know of how it was read.
        precision: of its modules, as its author says.
        lines: that make its modules, by path: see cmcompiler.usercode.with_line.
    """

    module: torch.nn.Module
    example_inputs: tuple[torch.Tensor, ...]
    calibration: Sequence[tuple[torch.Tensor, ...]]
    calibration_detail: str
    samples: Samples
    weights: Weights
    task: Task = Task.UNKNOWN
    samples_origin: SampleOrigin = SampleOrigin.SAMPLES
    samples_detail: str = ""
    has_real_calibration: bool = True
    classes: tuple[str, ...] = ()
    image: ImageInput | None = None
    notes: tuple[str, ...] = ()
    precision: tuple[Pattern, ...] = ()
    lines: Mapping[str, str] = field(default_factory=dict)


def is_quantization_aware(module: torch.nn.Module) -> bool:
    """Whether a module is one for training with rounding."""
    # Nobody has made one unless this is imported.
    training = sys.modules.get("cmcompiler.frontend.training")
    return training is not None and isinstance(module, training.QuantizationAware)


class ModelSource(Protocol):
    """Where a model comes from: zoo, Python file, archive. Imports torch in `load` only."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that the model depends on."""

    @property
    def expects_weights(self) -> Path | None:
        """The file of published weights that `load` uses if it exists."""

    @property
    def definition(self) -> tuple[str, int] | None:
        """File and line of what makes the model; None if it is not a user's."""

    def load(self, seed: int, weights: Path | None = None) -> Model:
        """The model; deterministic for a seed.

        Args:
            weights: a state dict that replaces the model's weights.

        Raises:
            CompilerError: of the kind INVALID for a model or weights that cannot be read.
        """
