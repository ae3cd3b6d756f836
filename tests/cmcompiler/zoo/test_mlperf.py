"""MLPerf Tiny's networks with trained weights compute what TensorFlow's do, layer for layer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from cmcompiler import zoo
from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.layer_files import read_layers
from cmcompiler.frontend.source import find_source
from cmcompiler.frontend.weights import RANDOM, Origin
from cmcompiler.tflite.weights import LayerWeights
from cmcompiler.zoo._mlperf import same_padding

PLACE = Path(__file__).parents[4] / "shared" / "mlperf"
"""Trained weights as numbers, beside the checkout."""

FILES = {
    "resnet8": "resnet8_tf.npz",
    "mobilenet_v1_025": "vww_tf.npz",
    "deep_autoencoder": "ad_tf.npz",
    "ds_cnn": "ds_cnn_tf.npz",
    "streaming_wakeword": "strww_tf.npz",
}
NAMES = (*FILES, "resnet8_large")

Array = npt.NDArray[np.float64]


def convolved(x: Array, layer: LayerWeights, stride: int = 1, is_same: bool = True) -> Array:
    """TensorFlow's CONV_2D or DEPTHWISE_CONV_2D with a bias, of [channels, rows, columns]."""
    outputs, depth, height, width = layer.weights.shape
    sizes = x.shape[1:]
    kernel = (height, width)
    sides = [
        same_padding(size, length, stride) if is_same else (0, 0)
        for size, length in zip(sizes, kernel, strict=True)
    ]
    padded = np.pad(x, [(0, 0), *sides])
    rows, columns = (
        (size + sum(side) - length) // stride + 1
        for size, side, length in zip(sizes, sides, kernel, strict=True)
    )
    out = np.zeros((outputs, rows, columns))
    for i in range(height):
        for j in range(width):
            seen = padded[:, i : i + rows * stride : stride, j : j + columns * stride : stride]
            seen = seen[:, :rows, :columns]
            tap = layer.weights[:, :, i, j].astype(np.float64)
            is_depthwise = depth != x.shape[0]
            out += tap[:, :, None] * seen if is_depthwise else np.einsum("oc,chw->ohw", tap, seen)
    return out + layer.bias.astype(np.float64)[:, None, None]


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def dense(x: Array, layer: LayerWeights) -> Array:
    return layer.weights.astype(np.float64) @ x + layer.bias


def expected(name: str, layers: Sequence[LayerWeights], x: Array) -> Array:
    """The outputs by the published architecture, written down once more."""
    if name == "deep_autoencoder":
        for layer in layers[:-1]:
            x = relu(dense(x, layer))
        return dense(x, layers[-1])
    if name == "resnet8":
        x = relu(convolved(x, layers[0]))
        x = relu(x + convolved(relu(convolved(x, layers[1])), layers[2]))
        for first in (3, 6):
            shortcut = convolved(x, layers[first + 2], 2)
            x = relu(shortcut + convolved(relu(convolved(x, layers[first], 2)), layers[first + 1]))
        return dense(x.mean(axis=(1, 2)), layers[9])
    if name == "streaming_wakeword":
        for index in range(0, 8, 2):
            x = convolved(x, layers[index], is_same=False)
            x = relu(convolved(x, layers[index + 1], is_same=False))
        return dense(x.ravel(), layers[8])
    halved = {"ds_cnn": {0}, "mobilenet_v1_025": {0, 3, 7, 11, 23}}[name]
    for index, layer in enumerate(layers[:-1]):
        x = relu(convolved(x, layer, 2 if index in halved else 1))
    return dense(x.mean(axis=(1, 2)), layers[-1])


@pytest.mark.parametrize("name", FILES)
def test_trained_networks_are_the_published_ones(name: str) -> None:
    if not PLACE.is_dir():
        pytest.skip(f"the trained weights are not in {PLACE}")
    file = PLACE / FILES[name]
    model = zoo.get(name).load(0, file)
    assert model.weights.source is Origin.FILE
    sample = model.example_inputs[0]
    with torch.no_grad():
        (actual,) = model.module(sample).double().numpy()
    wanted = expected(name, read_layers(file), sample[0].double().numpy())
    noise = float(np.square(actual - wanted).sum())
    assert 10 * np.log10(float(np.square(wanted).sum()) / noise) > 100


@pytest.mark.parametrize("name", NAMES)
def test_published_weights_have_a_pinned_address(name: str) -> None:
    trained = zoo.get(name).trained
    assert trained is not None
    for checkpoint in trained.checkpoints:
        assert "1afd2c9820f795965a6134facd0b4dfae41ef23f" in checkpoint.url
        assert len(checkpoint.sha256) == 64
        assert checkpoint.path.stem.endswith(checkpoint.sha256)


@pytest.mark.parametrize(
    ("name", "detail"),
    [("resnet8", "requested, with symmetric padding"), ("streaming_wakeword", "requested")],
)
def test_random_weights_are_there_on_request(name: str, detail: str) -> None:
    model = zoo.get(name).load(0, RANDOM)
    assert (model.weights.source, model.weights.detail) == (Origin.RANDOM, detail)
    with torch.no_grad():
        first, again = (zoo.get(name).load(0, RANDOM).module(*model.example_inputs) for _ in "ab")
    assert torch.equal(first, again)


@pytest.mark.parametrize("name", NAMES)
def test_without_network_the_network_is_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its weights are random, and say why."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "file"))
    model = zoo.get(name).load(0)
    assert model.weights.source is Origin.RANDOM
    assert "could not be downloaded" in model.weights.detail
    wanted = zoo.get(name).trained
    assert wanted is not None
    shapes = [tuple(each.shape) for each in model.module.parameters() if each.ndim > 1]
    assert tuple(shapes) == wanted.shapes
    assert not any(isinstance(each, torch.nn.BatchNorm2d) for each in model.module.modules())


def test_layers_of_another_network_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.npz"
    np.savez(file, w0=np.zeros((10, 64), np.float32), b0=np.zeros(10, np.float32))
    with pytest.raises(InvalidRequest, match=r"layer 0 has shape \(10, 64\), not \(16, 3, 3, 3\)"):
        zoo.get("resnet8").load(0, file)
    np.savez(file, other=np.zeros(3, np.float32))
    with pytest.raises(InvalidRequest, match="has the arrays other"):
        zoo.get("resnet8").load(0, file)


def test_other_models_have_no_random_weights(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text("import torch\n\nmodel = torch.nn.Linear(2, 2), torch.zeros(1, 2)\n")
    with pytest.raises(InvalidRequest, match="--weights random is for models of the zoo"):
        find_source(f"{file}:model").load(0, RANDOM)
