"""Reads arrays from untrusted NumPy files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.errors import InvalidRequest


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a `.npz` by name, in file order; that of a `.npy` under the empty name.

    Converted to native byte order.

    Raises:
        InvalidRequest: missing, unreadable, or containing pickled objects.
    """
    try:
        # np.load leaves a file that it opened, and cannot read, open.
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"": _native(loaded)}
            with loaded as archive:
                return {name: _native(archive[name]) for name in archive.files}
    except Exception as error:  # damaged files raise anything: np.load has no error of its own
        reason = str(error).partition("\n")[0]
        raise InvalidRequest(f"{path} does not contain readable arrays: {reason}") from None


def _native(array: npt.NDArray[Any] | bytes) -> npt.NDArray[Any]:
    if isinstance(array, bytes):
        raise ValueError("an archive without arrays")
    return array.astype(array.dtype.newbyteorder("="), copy=False)
