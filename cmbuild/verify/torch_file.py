"""Tensors in files of torch.save, read without torch and without executing their content."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cmbuild.errors import UsageError

_DTYPES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "<i1",
    "ByteStorage": "<u1",
    "BoolStorage": "?",
}


@dataclass(frozen=True, slots=True)
class _StorageType:
    dtype: np.dtype[Any]


def read_tensor(path: Path) -> npt.NDArray[Any]:
    """The one tensor that a file of `torch.save(tensor, path)` holds.

    Raises:
        UsageError: unreadable, or not a single tensor.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            folder = archive.namelist()[0].partition("/")[0]
            if _is_big_endian(archive, folder):
                raise ValueError("written on a big-endian machine")
            tensor = _Unpickler(archive, folder).load()
        if not isinstance(tensor, np.ndarray):
            raise ValueError(f"it holds a {type(tensor).__name__}")
    except OSError as error:
        raise UsageError(message=f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # damaged and hostile pickles raise anything
        raise UsageError(
            message=f"{path} is not a file of one tensor: {error}", hint="torch.save(tensor, path)"
        ) from error
    return tensor


class _Unpickler(pickle.Unpickler):
    """Accepts the parts of a tensor, and nothing else."""

    def __init__(self, archive: zipfile.ZipFile, folder: str) -> None:
        super().__init__(io.BytesIO(archive.read(f"{folder}/data.pkl")))
        self._archive, self._folder = archive, folder

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch" and name in _DTYPES:
            return _StorageType(np.dtype(_DTYPES[name]))
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuild
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        raise ValueError(f"it holds a {module}.{name}")

    def persistent_load(self, identity: Any) -> npt.NDArray[Any]:
        kind, storage, key, _location, _count = identity
        if kind != "storage" or not isinstance(storage, _StorageType):
            raise ValueError("it does not have plain storage")
        return np.frombuffer(self._archive.read(f"{self._folder}/data/{key}"), storage.dtype)


def _rebuild(
    storage: npt.NDArray[Any], offset: int, shape: Sequence[int], strides: Sequence[int], *_: object
) -> npt.NDArray[Any]:
    last = offset + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    if min((offset, *shape, *strides)) < 0 or (0 not in shape and last >= len(storage)):
        raise ValueError("a tensor exceeds its storage")
    if prod(shape) > len(storage):
        raise ValueError("a tensor repeats its storage")
    if 0 in shape:
        return np.zeros(shape, storage.dtype)
    steps = [step * storage.itemsize for step in strides]
    return np.lib.stride_tricks.as_strided(storage[offset:], shape, steps).copy()


def _is_big_endian(archive: zipfile.ZipFile, folder: str) -> bool:
    name = f"{folder}/byteorder"
    return name in archive.namelist() and archive.read(name).strip() == b"big"
