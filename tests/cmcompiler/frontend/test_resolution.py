"""Results that the rounding of their operands spoils are found, and computed in float."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e

from cmcompiler.frontend import backend, operators
from cmcompiler.frontend.fidelity.check import check
from cmcompiler.frontend.float_parts import UnroundedPart
from cmcompiler.frontend.lowering import lower, lower_with_nodes
from cmcompiler.frontend.observations import hold_ranges
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.quantized import Quantized
from cmcompiler.frontend.refinement import TOO_COARSE
from cmcompiler.frontend.resolution import OperandRounding
from cmcompiler.frontend.rewrites.order import rewrite
from cmcompiler.frontend.simulation import Simulation
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attribute")  # of every export

Samples = Sequence[tuple[Tensor, ...]]


class Between(nn.Module):
    """A function between the input and a linear layer."""

    def __init__(self, function: Callable[[Tensor], Tensor], size: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.function, self.layer = function, nn.Linear(size, 16)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(self.function(x))


def magnitudes(x: Tensor) -> Tensor:
    return torch.sqrt(x[:, 0] ** 2 + x[:, 1] ** 2 + 1e-12)


def energies(x: Tensor) -> Tensor:
    return torch.log((x.flatten(1, 2) * x.flatten(1, 2)).sum(-1) + 1e-2)


def spectra(count: int = 16) -> Samples:
    """Of two parts each, in rows and columns of very different sizes."""
    torch.manual_seed(1)
    return [
        (torch.randn(1, 2, 8, 32) * torch.exp(torch.randn(8, 1) - 1 + 0.5 * torch.randn(32)),)
        for _ in range(count)
    ]


def logits() -> tuple[nn.Module, Samples]:
    """Smooth ones over ±300."""
    torch.manual_seed(0)
    layers = [nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 64, bias=False)]
    samples = [(torch.randn(1, 16),) for _ in range(32)]
    with torch.no_grad():
        places = torch.arange(64.0)
        smooth = torch.exp(-((places[:, None] - places).div(8) ** 2) / 2)
        layers[2].weight.copy_(smooth @ torch.randn(64, 32))
        made = nn.Sequential(*layers)(torch.cat([sample[0] for sample in samples]))
        layers[2].weight.mul_(100 / made.std())
    return nn.Sequential(*layers, nn.Softmax(-1)), samples


def snr(exact: np.ndarray, actual: np.ndarray) -> float:
    noise = np.square(exact - actual).sum()
    return float(10 * np.log10(np.square(exact).sum() / noise))


def measured(module: nn.Module, samples: Samples) -> tuple[Quantized, np.ndarray, np.ndarray]:
    """The quantised module, float outputs, and those of its program."""
    module = module.eval()
    with torch.no_grad():
        exact = np.stack([module(*sample).numpy() for sample in samples])
    quantized = quantize(module, samples[0], samples)
    graph = build_graph(read_program(lower(quantized, Target.parse("cortex-m55"))))
    arrays = [[x.numpy() for x in sample] for sample in samples]
    return quantized, exact, np.stack([run.outputs[0] for run in evaluate_all(graph, arrays)])


def is_faithful(quantized: Quantized, samples: Samples) -> bool:
    """Whether each layer of the program computes what it does in the float graph."""
    lowered = lower_with_nodes(quantized, Target.parse("cortex-m55"))
    arrays = [[x.numpy() for x in sample] for sample in samples]
    actual = check(lowered.program, lowered.nodes, quantized.real, arrays)
    assert actual.layers
    return all(layer.error_steps <= layer.bound_steps for layer in actual.layers)


@pytest.mark.parametrize(("function", "size", "least"), [(magnitudes, 32, 24), (energies, 16, 20)])
def test_squares_keep_their_range(
    function: Callable[[Tensor], Tensor], size: int, least: float
) -> None:
    quantized, exact, actual = measured(Between(function, size), spectra())
    assert snr(exact, actual) > least
    assert {each.reason for each in quantized.float_operators} == {TOO_COARSE}
    sites = [quantized.call_sites[each.node] for each in quantized.float_operators]
    assert {site.file for site in sites} == {__file__}
    assert is_faithful(quantized, spectra())


def test_inputs_that_8_bits_are_too_coarse_for_are_read_as_given() -> None:
    def logarithms(x: Tensor) -> Tensor:
        return torch.log((x[:, 0] ** 2).mean(-2) + 1e-6)

    torch.manual_seed(2)
    samples = [(torch.randn(1, 2, 8, 32) * torch.exp(2.5 * torch.randn(32)),) for _ in range(12)]
    quantized, exact, actual = measured(Between(logarithms, 32), samples)
    assert snr(exact, actual) > 30
    assert {each.reason for each in quantized.float_operators} == {TOO_COARSE}
    assert is_faithful(quantized, samples)


def wide_rows(count: int = 8, arguments: int = 1) -> Samples:
    """Rows of which the largest are ten thousand times the smallest."""
    torch.manual_seed(3)
    return [
        tuple(
            torch.randn(1, 8, 16) * 10 ** torch.empty(1, 8, 1).uniform_(-2, 2)
            for _ in range(arguments)
        )
        for _ in range(count)
    ]


class Alone(nn.Module):
    """A function with parameters."""

    def __init__(self, function: Callable[..., Tensor], *parts: nn.Module) -> None:
        super().__init__()
        self.function, self.parts = function, nn.ModuleList(parts)

    def forward(self, *x: Tensor) -> Tensor:
        return self.function(*x)


def with_parameters(norm: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    for parameter in norm.parameters():
        nn.init.normal_(parameter)
    return norm


def over_columns(x: Tensor) -> Tensor:
    return nn.functional.normalize(x.transpose(1, 2), dim=1)


NORMS = {
    "layer_norm": with_parameters(nn.LayerNorm(16)),
    "instance_norm": with_parameters(nn.InstanceNorm1d(8, affine=True)),
    "rms_norm": with_parameters(nn.RMSNorm(16)),
    "group_norm": with_parameters(nn.GroupNorm(8, 8)),
    "normalize": Alone(partial(nn.functional.normalize, dim=-1)),
    "over_columns": Alone(over_columns),
    "cosine_similarity": Alone(partial(nn.functional.cosine_similarity, dim=-1)),
}


@pytest.mark.parametrize("name", NORMS)
def test_norms_keep_rows_of_all_magnitudes(name: str) -> None:
    samples = wide_rows(arguments=2 if name == "cosine_similarity" else 1)
    quantized, exact, actual = measured(NORMS[name], samples)
    assert snr(exact, actual) > 30
    assert {each.reason for each in quantized.float_operators} == {TOO_COARSE}
    assert is_faithful(quantized, samples)


def test_norms_of_ordinary_rows_stay_integers() -> None:
    torch.manual_seed(3)
    samples = [(torch.randn(1, 8, 16),) for _ in range(8)]
    quantized, exact, actual = measured(NORMS["layer_norm"], samples)
    assert snr(exact, actual) > 30
    assert not quantized.float_operators


def test_wide_logits_keep_their_differences() -> None:
    quantized, exact, actual = measured(*logits())
    assert snr(exact, actual) > 20
    assert (exact.argmax(-1) == actual.argmax(-1)).mean() >= 0.95
    names = {each.operator for each in quantized.float_operators}
    assert names == {"aten.linear.default", "aten.softmax.int"}


def prepared(module: nn.Module, samples: Samples) -> torch.fx.GraphModule:
    operators.define()
    graph = torch.export.export(module.eval(), samples[0]).module(check_guards=False)
    with torch.no_grad():
        made = prepare_pt2e(rewrite(graph), backend.Quantizer())
        for sample in samples:
            made(*sample)
    hold_ranges(made)
    return made


def test_a_part_in_float_can_be_taken_back() -> None:
    samples = spectra(4)
    graph = prepared(Between(magnitudes, 32), samples)
    nodes, simulation = [node.format_node() for node in graph.graph.nodes], Simulation(graph)
    with torch.no_grad():
        exact, before = (
            [row[0] for row in simulation.run_on(samples, rounding=each)] for each in (False, True)
        )
        (root,) = OperandRounding(graph, samples).spoilt()
        part = UnroundedPart(graph)
        for _ in range(3):
            causes = OperandRounding(graph, samples).causes(part.result(root))
            assert part.extend([root, *(cause.all_input_nodes[0] for cause in causes)])
            if not causes:
                break
        assert OperandRounding(graph, samples).causes(part.result(root)) == ()
        after = [row[0] for row in simulation.run_on(samples, rounding=True)]
        part.undo()
        again = [row[0] for row in simulation.run_on(samples, rounding=True)]
    real = torch.stack(exact).numpy()
    assert snr(real, torch.stack(after).numpy()) > snr(real, torch.stack(before).numpy())
    assert torch.equal(torch.stack(before), torch.stack(again))
    assert nodes == [node.format_node() for node in graph.graph.nodes]


def test_ordinary_layers_are_not_spoilt() -> None:
    torch.manual_seed(0)
    layers = [nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(720, 8), nn.Softmax(-1)]
    samples = [(torch.randn(1, 2, 8, 32),) for _ in range(4)]
    graph = prepared(nn.Sequential(*layers), samples)
    with torch.no_grad():
        assert OperandRounding(graph, samples).spoilt() == []
