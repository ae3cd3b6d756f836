from __future__ import annotations

import numpy as np
import pytest
import torch
from harness.pte import operators
from torch import nn

from cmcompiler.errors import InvalidRequest, Unsupported
from cmcompiler.frontend.layouts import channels_last
from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target


def network() -> nn.Module:
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 1, 8, 8), (1, 8, 1, 1), (1, 5), (1, 2, 3)])
def test_only_the_layout_changes(shape):
    tensor = torch.rand(shape)
    changed = channels_last(tensor)
    assert torch.equal(changed, tensor)
    if len(shape) == 4:
        _, c, h, w = shape
        assert changed.stride() == (h * w * c, 1, w * c, c)
    else:
        assert changed.is_contiguous()


@pytest.mark.parametrize("channels", [1, 3])
def test_any_example_input_is_quantised_whatever_its_layout(channels):
    module = nn.Sequential(nn.Conv2d(channels, 4, 3), nn.ReLU())
    example = torch.rand(1, channels, 6, 6)
    for layout in (torch.contiguous_format, torch.channels_last):
        inputs = (example.contiguous(memory_format=layout),)
        quantized = quantize(module, inputs, [inputs])
        assert quantized.float_operators == ()
        assert all(name.startswith("cortex_m::") for name in operators(lowered(quantized)))


def lowered(quantized, target="cortex-m55") -> bytes:
    return lower(quantized, Target.parse(target))


def test_a_quantised_program_computes_what_the_module_does():
    module = network()
    inputs = [(torch.rand(1, 1, 8, 8),) for _ in range(16)]
    quantized = quantize(module, inputs[0], inputs).program.module(check_guards=False)
    with torch.no_grad():
        exact = torch.cat([module(*x) for x in inputs])
        error = torch.cat([quantized(*map(channels_last, x)) for x in inputs]) - exact
    assert error.abs().max() < 0.02 * (exact.max() - exact.min())


def test_the_module_itself_is_not_changed():
    module = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Dropout())
    before = {name: value.clone() for name, value in module.state_dict().items()}
    example = (torch.rand(1, 1, 5, 5),)
    quantize(module, example, [example])
    assert module.training
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name])


def test_one_quantised_program_is_lowered_for_several_targets():
    example = (torch.rand(1, 1, 8, 8),)
    quantized = quantize(network(), example, [example])
    alone = {
        target: lowered(quantize(network(), example, [example]), target)
        for target in ("cortex-m55", "cortex-m0plus")
    }
    assert {target: lowered(quantized, target) for target in alone} == alone
    assert lowered(quantized, "cortex-m52") == alone["cortex-m55"]


def test_what_stays_in_float_is_named_with_a_reason():
    class Distances(nn.Module):
        def forward(self, x):
            return torch.sigmoid(torch.cdist(x, x, p=3.5))

    example = (torch.rand(1, 2, 10),)
    quantized = quantize(Distances(), example, [example])
    (left,) = quantized.float_operators
    assert (left.node, left.operator) == ("cdist", "aten.cdist.default")
    assert left.reason


def test_inputs_have_the_names_of_forward():
    class Pair(nn.Module):
        def forward(self, image, other):
            return image + other

    example = (torch.rand(1, 4), torch.rand(1, 4))
    assert quantize(Pair(), example, [example]).input_names == ("image", "other")


@pytest.mark.parametrize(
    ("calibration", "message"),
    [
        ([], "no calibration samples"),
        (
            [(torch.rand(1, 4),), (torch.rand(1, 5),)],
            "calibration sample 2 has float32 1×5, the model takes float32 1×4",
        ),
        ([(torch.ones(1, 4, dtype=torch.int32),)], "calibration sample 1 has int32 1×4"),
        ([(torch.rand(1, 4), torch.rand(1))], "has float32 1×4, float32 1, the model"),
        (
            [(torch.rand(1, 4),), (torch.full((1, 4), torch.inf),)],
            "linear gives NaN for calibration sample 2",
        ),
    ],
)
def test_calibration_that_does_not_fit_is_one_clear_line(calibration, message):
    with pytest.raises(InvalidRequest) as caught:
        quantize(nn.Linear(4, 3), (torch.rand(1, 4),), calibration)
    assert message in caught.value.message


def test_a_module_that_cannot_be_exported_is_one_clear_line():
    class Printing(nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return x
            return -x

    example = (torch.rand(1, 4),)
    with pytest.raises(
        Unsupported, match=r": Python code depends on the values of a tensor$"
    ) as caught:
        quantize(Printing(), example, [example])
    assert "\n" not in caught.value.message


def test_hardswish_that_follows_no_convolution_keeps_its_scales():
    """The backend's passes leave aten::hardswish on bare int8 numbers."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.AvgPool2d(2), nn.Hardswish(), nn.Conv2d(3, 4, 3), nn.Hardswish())
    inputs = [(4 * torch.randn(1, 3, 10, 10),) for _ in range(8)]
    program = lowered(quantize(module, inputs[0], inputs))
    assert operators(program)["cortex_m::quantized_activation"] == 2
    assert "aten::hardswish" not in operators(program)
    graph = build_graph(read_program(program))
    for (x,) in inputs:
        (actual,) = evaluate(graph, [x.numpy()]).outputs
        exact = module(x).detach().numpy()
        assert np.abs(actual - exact).max() < 0.04 * np.ptp(exact)


def test_an_embedding_is_a_table_of_int8_rows():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 4))
    samples = [(torch.randint(0, 20, (1, 7)),) for _ in range(4)]
    quantized = quantize(module, samples[0], samples)
    assert quantized.float_operators == ()
    graph = build_graph(read_program(lowered(quantized)))
    (table,) = (node.inputs[0] for node in graph.nodes if node.op.label == "gather")
    assert table.dtype == np.int8 and table.numel == 20 * 16
