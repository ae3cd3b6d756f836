from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
import torch
from harness.exports import Programs, zoo_models
from harness.figures import FIGURES, known
from harness.pte import operators, plan
from torch import nn

from cmcompiler import zoo
from cmcompiler.frontend.job import PROGRAM, RECORD, SAMPLES, ExportRecord, read
from cmcompiler.frontend.model import Task
from cmcompiler.frontend.vectors import Samples
from cmcompiler.frontend.weights import Origin

pytestmark = pytest.mark.timeout(900)
"""Two tests export half of the zoo each."""

NAMES = zoo.names()


@pytest.fixture(autouse=True)
def no_published_weights(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "file"))


def layers(module: nn.Module, *inputs: torch.Tensor) -> list[tuple[object, ...]]:
    """Kind, kernel, and shapes of the layers with weights, in order of execution."""
    collected: list[tuple[object, ...]] = []

    def note(layer, given, made):
        details = getattr(layer, "kernel_size", ()), getattr(layer, "groups", 1)
        collected.append((type(layer).__name__, *details, given[0].shape[1:], made.shape[1:]))

    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            layer.register_forward_hook(note)
    with torch.no_grad():
        module.eval()(*inputs)
    return collected


def macs(layer: tuple[object, ...]) -> int:
    _, kernel, groups, given, made = layer
    return int(np.prod(kernel) * given[0] // groups * np.prod(made))


def test_every_module_of_the_folder_is_a_model():
    described = {model.name: model for model in zoo.models()}
    assert set(described) == set(NAMES) >= set(FIGURES)
    for model in described.values():
        assert 10 < len(model.summary) < 80
        assert model.dataset
        assert model.input_shape[0] == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_model_is_as_it_is_described(name):
    described = zoo.get(name)
    model = described.load(seed=0)
    (example,) = model.example_inputs
    assert tuple(example.shape) == described.input_shape
    assert len(model.calibration) >= 16
    assert {tuple(x.shape) for x in chain(*model.calibration)} == {described.input_shape}
    assert model.samples.inputs[0].shape[1:] == described.input_shape
    assert model.samples.inputs[0].dtype == np.float32
    with torch.no_grad():
        answer = model.module(example)
    if described.task is Task.CLASSIFICATION:
        assert answer.shape == (1, len(model.classes))
    if described.image is not None:
        channels, height, width = described.input_shape[1:]
        assert (described.image.height, described.image.width) == (height, width)
        assert len(described.image.mean) == len(described.image.std) == channels


@pytest.mark.parametrize("name", known("macs"))
def test_a_model_has_the_size_of_its_architecture(name):
    model = zoo.get(name)
    total = sum(map(macs, layers(model.module(), torch.zeros(model.input_shape))))
    assert total == pytest.approx(FIGURES[name].macs, rel=1e-3)


@pytest.mark.parametrize("name", known("executorch"))
def test_mlperf_tiny_models_have_the_layers_of_executorchs_examples(name):
    reference = FIGURES[name].executorch
    module, _, attribute = reference.partition(".")
    examples = pytest.importorskip(f"executorch.examples.models.mlperf_tiny.{module}")
    inputs = torch.zeros(zoo.get(name).input_shape)
    ours = layers(zoo.get(name).module(), inputs)
    theirs = layers(getattr(examples, attribute)(), inputs)
    assert sorted(map(str, ours)) == sorted(map(str, theirs))


@pytest.mark.parametrize("name", ["digits", "mlp"])
def test_trained_models_know_digits_they_have_not_seen(name):
    model = zoo.get(name).load(seed=0)
    (images,), labels = model.samples.inputs, model.samples.labels
    assert len(images) == 360
    with torch.no_grad():
        answers = model.module(torch.from_numpy(images[:, 0])).argmax(1).numpy()
    assert model.weights.source is Origin.TRAINED
    assert (answers == labels).mean() > 0.95
    seen = {image.numpy().tobytes() for (image,) in model.calibration}
    assert not seen & {image.tobytes() for image in images}


def test_a_seed_decides_weights_and_inputs():
    zero, again, one = (zoo.get("resnet8").load(seed) for seed in (0, 0, 1))

    def content(model):
        weights = (value.numpy().tobytes() for value in model.module.state_dict().values())
        return b"".join((*weights, model.samples.inputs[0].tobytes()))

    assert content(zero) == content(again) != content(one)


def test_random_weights_say_why_and_make_answers_that_differ():
    model = zoo.get("mv3_small").load(seed=0)
    assert model.weights.source is Origin.RANDOM
    assert model.weights.detail.startswith("pretrained weights could not be downloaded: ")
    with torch.no_grad():
        answers = torch.cat([model.module(torch.from_numpy(x)) for (x,) in model.samples])
    assert len(answers.argmax(1).unique()) > 1


def test_published_weights_are_used_where_they_are(monkeypatch, tmp_path):
    model = zoo.get("mv3_small")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    torch.manual_seed(5)
    published = model.module()
    model.checkpoint.path.parent.mkdir(parents=True)
    torch.save(published.state_dict(), model.checkpoint.path)
    loaded = model.load(seed=0)
    assert loaded.weights.source is Origin.PRETRAINED
    assert loaded.weights.detail == model.checkpoint.path.name
    for name, value in published.state_dict().items():
        assert torch.equal(value, loaded.module.state_dict()[name])


def test_checkpoints_are_those_that_torchvision_names():
    from torchvision import models

    for name, weights in (
        ("mv2", models.MobileNet_V2_Weights.DEFAULT),
        ("mv3_small", models.MobileNet_V3_Small_Weights.DEFAULT),
    ):
        model = zoo.get(name)
        assert model.checkpoint.url == weights.url
        assert model.classes() == tuple(weights.meta["categories"])
        preset = weights.transforms()
        assert (model.image.mean, model.image.std) == (tuple(preset.mean), tuple(preset.std))
        assert model.image.margin * model.image.height == pytest.approx(preset.resize_size[0])


@pytest.fixture(scope="module")
def programs() -> Programs:
    return Programs()


@pytest.mark.parametrize("name", zoo_models())
def test_a_program_is_wholly_int8_between_its_boundaries(programs, name):
    operators_left = operators((programs[name] / PROGRAM).read_bytes())
    outside = FIGURES[name].outside if name in FIGURES else set()
    assert {op for op in operators_left if not op.startswith("cortex_m::")} <= outside
    assert operators_left["cortex_m::quantize_per_tensor"] == 1
    assert operators_left["cortex_m::dequantize_per_tensor"] == 1
    assert read(ExportRecord, programs[name] / RECORD).float_operators == ()


@pytest.mark.parametrize("name", zoo_models(known("arena")))
def test_a_program_has_the_size_that_executorch_plans_for_it(programs, name):
    sizes = plan((programs[name] / PROGRAM).read_bytes()).non_const_buffer_sizes
    assert sizes == [0, FIGURES[name].arena]


def test_mv2_is_the_network_of_executorchs_own_tests(programs):
    assert operators((programs["mv2"] / PROGRAM).read_bytes()) == {
        "cortex_m::quantize_per_tensor": 1,
        "cortex_m::quantized_conv2d": 35,
        "cortex_m::quantized_depthwise_conv2d": 17,
        "cortex_m::quantized_add": 10,
        "cortex_m::quantized_avg_pool2d": 1,
        "cortex_m::quantized_linear": 1,
        "cortex_m::dequantize_per_tensor": 1,
    }


@pytest.mark.parametrize("name", zoo_models())
def test_samples_lie_beside_the_program(programs, name):
    samples, record = (
        Samples.load(programs[name] / SAMPLES),
        read(ExportRecord, programs[name] / RECORD),
    )
    trained = record.weights.source is Origin.TRAINED
    assert len(samples) == record.samples.count == (360 if trained else 8)
    assert (samples.labels is not None) == record.samples.labels == trained
    assert samples.inputs[0].shape[1:] == record.inputs[0].shape == zoo.get(name).input_shape
