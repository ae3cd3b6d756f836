"""Calibration inputs from users' files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cmcompiler.arrays import read_arrays
from cmcompiler.errors import InvalidRequest

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

    A `.npy` contains a model's only input, a `.npz` one array per input in order, a `.pt` a tensor,
    a tuple of tensors (one per input), or a list of such. An array is one sample of its input's
    shape, or several: stacked, or side by side in a batch of more than one.

    Raises:
        InvalidRequest: unreadable, or the shape or kind of number does not match the inputs.
    """
    samples: list[tuple[torch.Tensor, ...]] = []
    for file in calibration_files(path):
        for arrays in _READERS[file.suffix](file):
            samples += _split(arrays, example_inputs, file)
    return samples


def _read_numpy(file: Path) -> list[tuple[npt.NDArray[Any], ...]]:
    return [tuple(array for name, array in read_arrays(file).items() if name != "labels")]


def _read_torch(file: Path) -> list[tuple[npt.NDArray[Any], ...]]:
    import torch

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


_READERS: dict[str, Callable[[Path], list[tuple[npt.NDArray[Any], ...]]]] = {
    ".npy": _read_numpy,
    ".npz": _read_numpy,
    ".pt": _read_torch,
}


def _split(
    arrays: tuple[npt.NDArray[Any], ...], example_inputs: tuple[torch.Tensor, ...], file: Path
) -> list[tuple[torch.Tensor, ...]]:
    import torch

    if len(arrays) != len(example_inputs):
        raise InvalidRequest(
            f"{file} holds {len(arrays)} inputs, the model takes {len(example_inputs)}"
        )
    columns = []
    for array, example in zip(arrays, example_inputs, strict=True):
        shape = tuple(example.shape)
        wanted = torch.empty(0, dtype=example.dtype).numpy().dtype
        if not np.can_cast(array.dtype, wanted, "same_kind"):
            raise InvalidRequest(f"{file} holds {array.dtype}, the model takes {wanted}")
        if array.shape == shape:
            stacked = array[np.newaxis]
        elif array.shape[1:] == shape:
            stacked = array
        elif shape[:1] == (1,) and array.ndim == len(shape) and array.shape[1:] == shape[1:]:
            stacked = array[:, np.newaxis]
        else:
            given, taken = ("×".join(map(str, sizes)) for sizes in (array.shape, shape))
            raise InvalidRequest(f"{file} has shape {given}, the model takes {taken}")
        columns.append(torch.from_numpy(np.ascontiguousarray(stacked, wanted)))
    if len({len(column) for column in columns}) > 1:
        raise InvalidRequest(f"{file}: its arrays differ in the number of samples")
    return list(zip(*columns, strict=True))
