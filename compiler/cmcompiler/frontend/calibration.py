"""Calibration inputs from users' files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cmcompiler.arrays import Header, check_unpacked, read_arrays
from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.vectors import input_names

if TYPE_CHECKING:
    import torch

SUFFIXES = (".npy", ".npz", ".pt")


def calibration_files(path: Path) -> tuple[Path, ...]:
    """The file itself, or the calibration files of a folder, sorted by name.

    Raises:
        InvalidRequest: none found.
    """
    if path.is_dir():
        files = tuple(sorted(file for file in path.iterdir() if file.suffix in SUFFIXES))
        if not files:
            raise InvalidRequest(f"no {', '.join(SUFFIXES)} files in {path}")
        return files
    if not path.is_file():
        raise InvalidRequest(f"no such file or folder: {path}")
    if path.suffix not in SUFFIXES:
        raise InvalidRequest(f"{path} is not a {', '.join(SUFFIXES)} file")
    return (path,)


def read_calibration(
    path: Path, example_inputs: tuple[torch.Tensor, ...]
) -> list[tuple[torch.Tensor, ...]]:
    """Reads the calibration inputs of a model from a file or a folder of files.

    A `.npy` contains a model's only input, a `.npz` one array per input (see `input_names`), a
    `.pt` a tensor, a tuple of tensors (one per input), or a list of such. An array is one sample of
    its input's shape, or several: stacked, or side by side in a batch of more than one.

    Raises:
        InvalidRequest: unreadable, or the shape or kind of number does not match the inputs.
    """
    samples: list[tuple[torch.Tensor, ...]] = []
    for file in calibration_files(path):
        for arrays in _READERS[file.suffix](file, example_inputs):
            samples += _split(arrays, example_inputs, file)
    return samples


def _read_numpy(
    file: Path, example_inputs: tuple[torch.Tensor, ...]
) -> list[tuple[npt.NDArray[Any], ...]]:
    def accept(headers: Mapping[str, Header]) -> None:
        stacks = [headers[name] for name in input_names(headers)]
        _check_count(len(stacks), example_inputs, file)
        for header, example in zip(stacks, example_inputs, strict=True):
            _stacked_shape(header.dtype, header.shape, example, file)

    arrays = read_arrays(file, accept)
    return [tuple(arrays[name] for name in input_names(arrays))]


def _read_torch(
    file: Path, example_inputs: tuple[torch.Tensor, ...]
) -> list[tuple[npt.NDArray[Any], ...]]:
    import torch

    check_unpacked(file)
    try:
        loaded = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # unpickling untrusted bytes raises anything
        reason = str(error).strip().partition("\n")[0]
        raise InvalidRequest(f"{file} cannot be read: {reason}") from None

    def arrays(item: Any) -> tuple[npt.NDArray[Any], ...]:
        tensors = item if isinstance(item, tuple) else (item,)
        if not all(isinstance(tensor, torch.Tensor) for tensor in tensors):
            raise InvalidRequest(f"{file} does not contain tensors only")
        return tuple(tensor.detach().numpy() for tensor in tensors)

    return [arrays(item) for item in (loaded if isinstance(loaded, list) else [loaded])]


_READERS: dict[
    str, Callable[[Path, tuple[torch.Tensor, ...]], list[tuple[npt.NDArray[Any], ...]]]
] = {
    ".npy": _read_numpy,
    ".npz": _read_numpy,
    ".pt": _read_torch,
}


def _split(
    arrays: tuple[npt.NDArray[Any], ...], example_inputs: tuple[torch.Tensor, ...], file: Path
) -> list[tuple[torch.Tensor, ...]]:
    import torch

    _check_count(len(arrays), example_inputs, file)
    columns = []
    for array, example in zip(arrays, example_inputs, strict=True):
        stacked = array.reshape(_stacked_shape(array.dtype, array.shape, example, file))
        wanted = _dtype(example)
        columns.append(torch.from_numpy(np.ascontiguousarray(stacked, wanted)))
    if len({len(column) for column in columns}) > 1:
        raise InvalidRequest(f"{file}: its arrays differ in the number of samples")
    return list(zip(*columns, strict=True))


def _check_count(count: int, example_inputs: tuple[torch.Tensor, ...], file: Path) -> None:
    if count != len(example_inputs):
        raise InvalidRequest(f"{file} holds {count} inputs, the model takes {len(example_inputs)}")


def _stacked_shape(
    dtype: np.dtype[Any], shape: tuple[int, ...], example: torch.Tensor, file: Path
) -> tuple[int, ...]:
    """The shape of the samples in an array, one or several."""
    taken, wanted = tuple(example.shape), _dtype(example)
    if not np.can_cast(dtype, wanted, "same_kind"):
        raise InvalidRequest(f"{file} holds {dtype}, the model takes {wanted}")
    if shape == taken:
        return (1, *shape)
    if shape[1:] == taken:
        return shape
    if taken[:1] == (1,) and len(shape) == len(taken) and shape[1:] == taken[1:]:
        return (shape[0], *taken)
    given, needed = ("×".join(map(str, sizes)) for sizes in (shape, taken))
    raise InvalidRequest(f"{file} has shape {given}, the model takes {needed}")


def _dtype(example: torch.Tensor) -> np.dtype[Any]:
    import torch

    return np.dtype(torch.empty(0, dtype=example.dtype).numpy().dtype)


def shuffles(
    inputs: tuple[torch.Tensor, ...], count: int, seed: int
) -> list[tuple[torch.Tensor, ...]]:
    """So many inputs: those given, and seeded random permutations of their values."""
    import torch

    random = torch.Generator().manual_seed(seed)

    def shuffled(tensor: torch.Tensor) -> torch.Tensor:
        order = torch.randperm(tensor.numel(), generator=random)
        return tensor.reshape(-1)[order].reshape(tensor.shape)

    return [inputs, *(tuple(map(shuffled, inputs)) for _ in range(count - 1))]
