"""Tensors in files of torch.save, read without torch and without executing their content."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cmbuild.errors import UsageError
from cmcompiler.arrays import Accept, Header, check_unpacked

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


def read_tensor(path: Path, accept: Accept = lambda headers: None) -> npt.NDArray[Any]:
    """The one tensor that a file of `torch.save(tensor, path)` holds.

    Args:
        accept: see cmcompiler.arrays.read_arrays.

    Raises:
        UsageError: unreadable, too large, or not a single tensor.
    """
    check_unpacked(path)
    refusals: list[UsageError] = []

    def accepted(dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        try:
            accept({"": Header(dtype, shape)})
        except UsageError as error:
            refusals.append(error)
            raise

    try:
        with zipfile.ZipFile(path) as archive:
            folder = archive.namelist()[0].partition("/")[0]
            if _is_big_endian(archive, folder):
                raise ValueError("written on a big-endian machine")
            tensor = _Unpickler(archive, folder, accepted).load()
        if not isinstance(tensor, np.ndarray):
            raise ValueError(f"it holds a {type(tensor).__name__}")
    except OSError as error:
        raise UsageError(message=f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # damaged and hostile pickles raise anything
        if error in refusals:
            raise
        raise UsageError(
            message=f"{path} is not a file of one tensor: {error}", hint="torch.save(tensor, path)"
        ) from error
    return tensor


class _Unpickler(pickle.Unpickler):
    """Accepts the parts of a tensor, and nothing else."""

    def __init__(
        self,
        archive: zipfile.ZipFile,
        folder: str,
        accept: Callable[[np.dtype[Any], tuple[int, ...]], None],
    ) -> None:
        super().__init__(io.BytesIO(archive.read(f"{folder}/data.pkl")))
        self._archive, self._folder, self._accept = archive, folder, accept

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch" and name in _DTYPES:
            return _StorageType(np.dtype(_DTYPES[name]))
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return partial(_rebuild, self._accept)
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        raise ValueError(f"it holds a {module}.{name}")

    def persistent_load(self, identity: Any) -> _Storage:
        kind, storage, key, _location, _count = identity
        if kind != "storage" or not isinstance(storage, _StorageType):
            raise ValueError("it does not have plain storage")
        name = f"{self._folder}/data/{key}"
        count = self._archive.getinfo(name).file_size // storage.dtype.itemsize
        return _Storage(storage.dtype, count, partial(self._archive.read, name))


def _rebuild(
    accept: Callable[[np.dtype[Any], tuple[int, ...]], None],
    storage: _Storage,
    offset: int,
    shape: Sequence[int],
    strides: Sequence[int],
    *_: object,
) -> npt.NDArray[Any]:
    last = offset + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    if min((offset, *shape, *strides)) < 0 or (0 not in shape and last >= storage.count):
        raise ValueError("a tensor exceeds its storage")
    if prod(shape) > storage.count:
        raise ValueError("a tensor repeats its storage")
    accept(storage.dtype, tuple(shape))
    if 0 in shape:
        return np.zeros(shape, storage.dtype)
    content = np.frombuffer(storage.read(), storage.dtype)
    steps = [step * content.itemsize for step in strides]
    return np.lib.stride_tricks.as_strided(content[offset:], shape, steps).copy()


@dataclass(frozen=True, slots=True)
class _Storage:
    """The numbers of a tensor, not read yet."""

    dtype: np.dtype[Any]
    count: int
    read: Callable[[], bytes]


def _is_big_endian(archive: zipfile.ZipFile, folder: str) -> bool:
    name = f"{folder}/byteorder"
    return name in archive.namelist() and archive.read(name).strip() == b"big"
