"""Test vectors: inputs to run a model on, and the right answers if known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.arrays import Accept, read_arrays
from cmcompiler.errors import InvalidRequest

LABELS = "labels"
"""Name of the array of classes, beside the inputs."""


def input_names(held: Iterable[str]) -> tuple[str, ...]:
    """Names of the arrays of a file that are inputs, in their order.

    Those of `input_0`, `input_1`, … are in this order, any others in that of the file.
    """
    names = [name for name in held if name != LABELS]
    numbered = [f"input_{index}" for index in range(len(names))]
    return tuple(numbered if sorted(names) == sorted(numbered) else names)


@dataclass(frozen=True, eq=False, slots=True)
class Samples:
    """Inputs of a model, stacked.

    Attributes:
        inputs: one array per input, shape (samples, *x.shape) with torch's x.shape.
        labels: class of each sample, shape (samples,), int64; None if unknown.
    """

    inputs: tuple[npt.NDArray[Any], ...]
    labels: npt.NDArray[Any] | None = None

    @classmethod
    def stack(
        cls, samples: Sequence[Sequence[npt.NDArray[Any]]], labels: npt.NDArray[Any] | None = None
    ) -> Samples:
        """Stacks the inputs of samples."""
        return cls(tuple(np.stack(arrays) for arrays in zip(*samples, strict=True)), labels)

    def __len__(self) -> int:
        return len(self.inputs[0])

    def __getitem__(self, index: int) -> tuple[npt.NDArray[Any], ...]:
        """The inputs of one sample, each in its logical shape."""
        return tuple(stacked[index] for stacked in self.inputs)

    def __iter__(self) -> Iterator[tuple[npt.NDArray[Any], ...]]:
        return (self[index] for index in range(len(self)))

    def save(self, path: Path) -> None:
        """Writes an `.npz` of input_0, input_1, … and labels; equal samples give equal bytes."""
        arrays = {f"input_{index}": stacked for index, stacked in enumerate(self.inputs)}
        if self.labels is not None:
            arrays[LABELS] = self.labels
        np.savez(path, **arrays)

    @classmethod
    def load(cls, path: Path, accept: Accept = lambda headers: None) -> Samples:
        """Reads what `save` wrote, or arrays of other names: see `input_names`.

        Args:
            accept: see read_arrays.

        Raises:
            InvalidRequest: unreadable, or not such a file.
        """
        arrays = read_arrays(path, accept)
        labels = arrays.pop(LABELS, None)
        names = input_names(arrays)
        if not any(names):
            raise InvalidRequest(f"{path} holds no inputs by name: input_0, …")
        inputs = tuple(arrays[name] for name in names)
        columns = inputs if labels is None else (*inputs, labels)
        if any(column.ndim == 0 or len(column) != len(inputs[0]) for column in columns):
            raise InvalidRequest(f"{path}: its arrays differ in the number of samples")
        return cls(inputs, labels)
