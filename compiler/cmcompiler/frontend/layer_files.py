"""Files with the weights of a network's layers, one after the other. Importing it is cheap."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cmcompiler.errors import CompilerError, InvalidRequest
from cmcompiler.importer.suffixes import TFLITE

if TYPE_CHECKING:
    from cmcompiler.tflite.weights import LayerWeights

NPZ = ".npz"
LAYER_FILES = (TFLITE, NPZ)


def read_layers(path: Path) -> list[LayerWeights]:
    """The layers of a `.tflite` file in its order, or of a `.npz` with arrays w0, b0, w1, …

    Raises:
        OSError: the file cannot be read.
        InvalidRequest: it is not such a file.
    """
    if path.suffix == NPZ:
        return _numbered(path)
    from cmcompiler.tflite.weights import layer_weights

    try:
        return layer_weights(path.read_bytes())
    except CompilerError as error:
        raise InvalidRequest(f"{path}: {error.message}", error.hint) from error


def _numbered(path: Path) -> list[LayerWeights]:
    import numpy as np

    from cmcompiler.arrays import read_arrays
    from cmcompiler.tflite.weights import LayerWeights

    hint = "expected arrays w0, b0, w1, b1, … of the layers in order"
    arrays = read_arrays(path)
    count = len(arrays) // 2
    wanted = {f"{kind}{index}" for kind in "wb" for index in range(count)}
    if not count or set(arrays) != wanted:
        raise InvalidRequest(f"{path} has the arrays {', '.join(sorted(arrays)[:8])}", hint)
    if any(array.dtype.kind != "f" for array in arrays.values()):
        raise InvalidRequest(f"{path} has arrays that are not floats", hint)
    return [
        LayerWeights(arrays[f"w{index}"].astype(np.float32), arrays[f"b{index}"].astype(np.float32))
        for index in range(count)
    ]
