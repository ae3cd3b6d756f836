"""Files with the weights of layers in order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.layer_files import read_layers


def test_arrays_are_layers_by_their_numbers(tmp_path: Path) -> None:
    file = tmp_path / "layers.npz"
    np.savez(file, w1=np.ones((2, 3)), b1=np.zeros(2), w0=np.ones((3, 4)), b0=np.zeros(3))
    layers = read_layers(file)
    assert [layer.weights.shape for layer in layers] == [(3, 4), (2, 3)]
    assert layers[0].weights.dtype == np.float32


@pytest.mark.parametrize("names", [("w0",), ("w0", "b1"), ()])
def test_incomplete_arrays_are_refused(names: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "layers.npz"
    np.savez(file, **{name: np.zeros(2) for name in names})
    with pytest.raises(InvalidRequest, match="has the arrays"):
        read_layers(file)


def test_a_damaged_program_is_refused_with_its_name(tmp_path: Path) -> None:
    file = tmp_path / "net.tflite"
    file.write_bytes(b"not a program")
    with pytest.raises(InvalidRequest, match=r"net\.tflite: not a TensorFlow Lite program"):
        read_layers(file)
