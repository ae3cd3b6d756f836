from __future__ import annotations

from copy import deepcopy

import torch
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from cmcompiler.frontend import backend
from cmcompiler.frontend.observations import hold_ranges
from cmcompiler.frontend.sensitivity import snr
from cmcompiler.frontend.simulation import Simulation, rounded


def prepare():
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    module = nn.Sequential(*layers, nn.Linear(32, 4), nn.Softmax(-1)).eval()
    samples = [
        (torch.randn(1, 3, 6, 6).contiguous(memory_format=torch.channels_last),) for _ in "1234"
    ]
    with torch.no_grad():
        exact = [module(*sample) for sample in samples]
        prepared = prepare_pt2e(
            torch.export.export(module, samples[0]).module(check_guards=False), backend.Quantizer()
        )
        for sample in samples:
            prepared(*sample)
    return prepared, samples, exact


def test_it_computes_what_the_converted_graph_does():
    prepared, samples, exact = prepare()
    converted = convert_pt2e(deepcopy(prepared))
    with torch.no_grad():
        hold_ranges(prepared)
        simulation = Simulation(prepared)
        real, rounded = (simulation.run_on(samples, rounding=flag) for flag in (False, True))
        actual = [converted(*sample) for sample in samples]
    assert snr(exact, [row[0] for row in real]) > 100
    assert snr(actual, [row[0] for row in rounded]) > 60 > snr(exact, actual)


def test_held_ranges_convert_to_the_observers_own():
    prepared, _, _ = prepare()
    before, after = (
        [[n.target, *n.args[1:]] for n in graph.graph.nodes if "quantize_per" in str(n.target)]
        for graph in (convert_pt2e(deepcopy(prepared)), _held(prepared))
    )
    strip = [[str(x) for x in row if not isinstance(x, torch.fx.Node)] for row in before]
    assert strip == [[str(x) for x in row if not isinstance(x, torch.fx.Node)] for row in after]


def _held(prepared):
    hold_ranges(prepared)
    return convert_pt2e(prepared)


def test_ranges_without_tails():
    prepared, _, _ = prepare()
    for each in hold_ranges(prepared):
        whole = each.without_tails(0.0)
        assert whole == (each.least, each.largest)
        least, largest = each.without_tails(0.1)
        assert whole[0] <= least < largest < whole[1]
        inside = each.histogram[: int((largest - each.least) / (each.largest - each.least) * 2048)]
        assert 0.85 < float(inside.sum() / each.histogram.sum()) < 0.95


def test_values_are_rounded_as_torch_rounds_them():
    torch.manual_seed(1)
    for scale, zero_point in [(0.0371, -7), (2.0**-20, 127), (1.5, -128), (1 / 255, 0)]:
        observer = _Fixed(scale, zero_point)
        value = torch.cat([torch.randn(500), torch.arange(-300, 300) / 2]) * scale * 90
        expected = torch.fake_quantize_per_tensor_affine(value, scale, zero_point, -128, 127)
        assert torch.equal(rounded(value, observer).view(torch.int32), expected.view(torch.int32))


class _Fixed:
    qscheme, quant_min, quant_max = torch.per_tensor_affine, -128, 127

    def __init__(self, scale, zero_point):
        self._parameters = torch.tensor(scale), torch.tensor(zero_point)

    def calculate_qparams(self):
        return self._parameters
