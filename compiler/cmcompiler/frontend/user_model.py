"""Validates the model and data that user code returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.calibration import shuffles
from cmcompiler.frontend.model import Model
from cmcompiler.frontend.module_lines import ModuleLines
from cmcompiler.frontend.precision import Pattern, read_precision
from cmcompiler.frontend.sample_origin import SampleOrigin
from cmcompiler.frontend.vectors import Samples
from cmcompiler.frontend.weights import Weights
from cmcompiler.usercode import located

if TYPE_CHECKING:
    import torch

_SHUFFLES = 8
_GATHERING = "wrap the module in one whose forward() takes a tensor for each, and {} them"
_SETTING = "set it where the module is made: inputs are tensors, and others are constants"
_INPUTS = {
    "dict": _GATHERING.format("names"),
    "list": _GATHERING.format("gathers"),
    "tuple": _GATHERING.format("gathers"),
    "NoneType": "leave it out; if others follow, wrap the module in one that passes it",
    "ndarray": "give tensors: torch.from_numpy",
    "generator": _GATHERING.format("gathers"),
    **dict.fromkeys(("str", "bool", "int", "float"), _SETTING),
}
"""Hints for inputs of other types, by these."""
_EXPECTED = "return module, example_inputs[, calibration], or an object with these attributes"


@dataclass(frozen=True, eq=False, slots=True)
class UserModel:
    """A module and its data, checked, in float32. Loading it needs torch.

    Attributes:
        notes: what people should know of how it was read.
        precision: of its modules.
        lines: that make its modules, by path: see cmcompiler.usercode.with_line.
    """

    module: torch.nn.Module
    example_inputs: tuple[torch.Tensor, ...]
    calibration: list[tuple[torch.Tensor, ...]]
    samples: list[tuple[torch.Tensor, ...]]
    labels: npt.NDArray[Any] | None
    notes: tuple[str, ...] = ()
    precision: tuple[Pattern, ...] = ()
    lines: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, made: Any, where: str, lines: ModuleLines | None = None) -> UserModel:
        """
        Args:
            made: what the user's code returns.
            where: names that code in errors.
            lines: of the modules in it.

        Raises:
            InvalidRequest: there is no module, no example, or data of another shape than that.
            Unsupported: a module that no program can compute.
        """
        import torch

        from cmcompiler.frontend.adaptation import adapted
        from cmcompiler.frontend.graph_names import without_own_names
        from cmcompiler.frontend.single_precision import single

        names = ("module", "example_inputs", "calibration", "samples", "labels", "precision")
        if isinstance(made, tuple):
            if len(made) > 3:
                raise InvalidRequest(f"{where} returned a tuple of {len(made)}", _EXPECTED)
            fields = dict.fromkeys(names) | dict(zip(names[:3], made, strict=False))
        else:
            fields = {name: getattr(made, name, None) for name in names}
            if isinstance(made, torch.nn.Module):
                fields["module"] = made
        module: Any = fields["module"]
        if type(module).__name__ == "ExportedProgram":
            fields["module"] = without_own_names(module).module(check_guards=False)
        if not isinstance(fields["module"], torch.nn.Module):
            hint = _instead(fields["module"])
            raise InvalidRequest(f"{where} did not return a torch.nn.Module", hint)
        if fields["example_inputs"] is None:
            raise InvalidRequest(f"{where} did not return example inputs", _EXPECTED)
        labels = fields["labels"]

        def samples(name: str) -> list[tuple[torch.Tensor, ...]]:
            given = fields[name]  # a tensor of samples has no truth value
            return [] if given is None else [single(tensors(sample, where)) for sample in given]

        example = tensors(fields["example_inputs"], where)
        places = ({} if lines is None else lines.of(fields["module"])) or {"": where}
        with located(places):
            module, notes = adapted(fields["module"], example)
        user = cls(
            module,
            single(example),
            samples("calibration"),
            samples("samples"),
            None if labels is None else np.asarray(labels, np.int64),
            notes,
            read_precision(fields["precision"], where),
            places,
        )
        user._check_samples(where)
        return user

    def _check_samples(self, where: str) -> None:
        shapes = [tensor.shape for tensor in self.example_inputs]
        for index, sample in enumerate(self.samples, start=1):
            if [tensor.shape for tensor in sample] != shapes:
                raise InvalidRequest(f"{where}: sample {index} has another shape than the example")
        if self.labels is not None and self.labels.shape != (len(self.samples),):
            raise InvalidRequest(f"{where}: the number of labels is not the number of samples")

    def model(self, weights: Weights, seed: int) -> Model:
        samples = self.samples or shuffles(self.example_inputs, _SHUFFLES, seed)
        arrays = [[tensor.numpy() for tensor in sample] for sample in samples]
        return Model(
            module=self.module,
            example_inputs=self.example_inputs,
            calibration=self.calibration or [self.example_inputs],
            calibration_detail="as given" if self.calibration else "the example inputs only",
            has_real_calibration=bool(self.calibration),
            samples=Samples.stack(arrays, self.labels),
            samples_origin=SampleOrigin.SAMPLES if self.samples else SampleOrigin.SYNTHETIC,
            samples_detail="" if self.samples else "the example and its shuffles",
            weights=weights,
            notes=self.notes,
            precision=self.precision,
            lines=self.lines,
        )


def _instead(given: Any) -> str:
    """The hint for an object that is not a module."""
    if isinstance(given, type):
        return f"return an instance of it: {given.__name__}()"
    if isinstance(given, Mapping):
        return "load it into the module, module.load_state_dict(…), and return that"
    if callable(given):
        return "call it in the forward() of a torch.nn.Module"
    return _EXPECTED


def tensors(value: Any, where: str) -> tuple[torch.Tensor, ...]:
    """The inputs of a module, given as one tensor or several.

    Raises:
        InvalidRequest: names where something else was given.
    """
    import torch

    items: Sequence[Any] = value if isinstance(value, tuple | list) else (value,)
    for item in items:
        if not isinstance(item, torch.Tensor):
            kind = type(item).__name__
            raise InvalidRequest(f"{where}: an input is a {kind}, not a tensor", _INPUTS.get(kind))
        if item.is_meta:
            raise InvalidRequest(f"{where}: an input is on the meta device and has no values")
    return tuple(item.detach().cpu() for item in items)
