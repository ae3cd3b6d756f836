"""Test vectors: inputs to run a model on, and the right answers if known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.arrays import Accept, read_arrays
from cmcompiler.errors import InvalidRequest


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
            arrays["labels"] = self.labels
        np.savez(path, **arrays)

    @classmethod
    def load(cls, path: Path, accept: Accept = lambda headers: None) -> Samples:
        """Reads what `save` wrote.

        Args:
            accept: see read_arrays.

        Raises:
            InvalidRequest: unreadable, or not such a file.
        """
        arrays = read_arrays(path, accept)
        labels = arrays.pop("labels", None)
        names = [f"input_{index}" for index in range(len(arrays))]
        if not names or sorted(arrays) != sorted(names):
            held = ", ".join(filter(None, arrays)) or "nothing by name"
            raise InvalidRequest(f"{path} holds {held}, not input_0, …")
        inputs = tuple(arrays[name] for name in names)
        columns = inputs if labels is None else (*inputs, labels)
        if any(column.ndim == 0 or len(column) != len(inputs[0]) for column in columns):
            raise InvalidRequest(f"{path}: its arrays differ in the number of samples")
        return cls(inputs, labels)
