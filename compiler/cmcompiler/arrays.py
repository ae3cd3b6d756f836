"""Reads arrays from untrusted NumPy files: headers first, and no more than a file should hold."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cmcompiler.errors import InvalidRequest

MOST_BYTES = 4 << 30
"""Limit for all arrays in a file; samples for a Cortex-M are far smaller."""

_SMALL = 1 << 30
_MOST_RATIO = 100  # limit of the unpacked size to a larger archive's own; samples shrink far less

_BLOCK = 1 << 20
_ARRAY = ".npy"
_MAGIC = b"PK\x03\x04", b"PK\x05\x06"  # an archive's; one without files has the second


class Header(NamedTuple):
    """The header of an array in a file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def native(self) -> Header:
        """With this machine's byte order."""
        return Header(self.dtype.newbyteorder("="), self.shape)


Accept = Callable[[Mapping[str, Header]], None]
"""Is given all headers of a file, by name, before any content is read; raises to refuse it."""


def read_arrays(path: Path, accept: Accept = lambda headers: None) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a `.npz` by name, in file order; that of a `.npy` under the empty name.

    Converted to native byte order.

    Raises:
        InvalidRequest: missing, unreadable, too large, or containing pickled objects.
        Exception: whatever `accept` raises.
    """
    refusals: list[Exception] = []

    def accepted(headers: Mapping[str, Header]) -> None:
        try:
            accept(headers)
        except Exception as error:
            refusals.append(error)
            raise

    try:
        with path.open("rb") as file:
            if file.read(4) in _MAGIC:
                return _archived(file, accepted)
            size = file.seek(0, io.SEEK_END)
            file.seek(0)
            accepted({"": _header(file)[0].native})
            file.seek(0)
            return {"": _array(file, size)}
    except Exception as error:  # damaged files raise anything
        if error in refusals:
            raise
        reason = str(error).partition("\n")[0]
        raise InvalidRequest(f"{path} does not contain readable arrays: {reason}") from None


def check_unpacked(path: Path) -> None:
    """Checks what a file would unpack to if it is a zip archive, as PyTorch writes them.

    Raises:
        InvalidRequest: far more than such a file should hold.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _check_sizes(archive)
    except ValueError as error:
        raise InvalidRequest(f"{path} is too large: {error}") from None
    except Exception:  # no archive, or a damaged one: its reader says so
        return


def _check_sizes(archive: zipfile.ZipFile) -> None:
    whole = sum(info.file_size for info in archive.infolist())
    assert archive.fp is not None
    packed = archive.fp.seek(0, io.SEEK_END)
    if whole > MOST_BYTES or (whole > _SMALL and whole > _MOST_RATIO * packed):
        raise ValueError(f"it unpacks to {whole:,} bytes")


def _archived(file: IO[bytes], accept: Accept) -> dict[str, npt.NDArray[Any]]:
    with zipfile.ZipFile(file) as archive:
        infos = archive.infolist()
        if any(not info.filename.endswith(_ARRAY) for info in infos):
            raise ValueError("an archive without arrays")
        _check_sizes(archive)
        headers, arrays = {}, {}
        for info in infos:
            with archive.open(info) as member:
                headers[info.filename.removesuffix(_ARRAY)] = _header(member)[0].native
        accept(headers)
        for info in infos:
            with archive.open(info) as member:
                arrays[info.filename.removesuffix(_ARRAY)] = _array(member, info.file_size)
        return arrays


def _header(file: IO[bytes]) -> tuple[Header, bool]:
    """In the file's byte order, and whether the first index changes fastest."""
    readers: dict[tuple[int, int], Any] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    version = np.lib.format.read_magic(file)  # type: ignore[no-untyped-call]
    if version not in readers:
        raise ValueError(f"version {version[0]}.{version[1]} of the format")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # headers of Python 2 need parsing twice
        shape, is_fortran, dtype = readers[version](file)
    if dtype.hasobject:
        raise ValueError("it holds pickled objects")
    needed = prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or dtype.itemsize == 0:
        raise ValueError(f"it holds {dtype} {shape}")
    if needed > MOST_BYTES:
        raise ValueError(f"an array of {needed:,} bytes")
    return Header(dtype, shape), is_fortran


def _array(file: IO[bytes], size: int) -> npt.NDArray[Any]:
    """
    Args:
        size: bytes that the file has, header included.
    """
    (dtype, shape), is_fortran = _header(file)
    if prod(shape) * dtype.itemsize > size:
        raise ValueError("it is cut off")
    flat = np.empty(prod(shape), dtype)
    content, place = flat.view(np.uint8).data, 0
    while place < len(content):
        block = file.read(min(_BLOCK, len(content) - place))
        if not block:
            raise ValueError("it is cut off")
        content[place : place + len(block)] = block
        place += len(block)
    array = flat.reshape(shape[::-1]).T if is_fortran else flat.reshape(shape)
    return array.astype(dtype.newbyteorder("="), copy=False)
