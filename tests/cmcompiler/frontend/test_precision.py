"""Modules with int16 activations: what computes, how near it comes to float, and on which bits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from harness.coverage import integer_snr
from harness.examples import Example
from harness.runtime import Runtime
from torch import Tensor, nn
from torch.fx import GraphModule

from cmcompiler import api
from cmcompiler.errors import InvalidRequest
from cmcompiler.frontend.chosen_precision import check_patterns
from cmcompiler.frontend.operators import define
from cmcompiler.frontend.operators.short import interpolation_table
from cmcompiler.frontend.precision import GROUPS, everywhere, read_precision
from cmcompiler.frontend.rewrites.short import make_short
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph
from cmcompiler.ir.quantization import Quantization
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.ops.interpolation import ENTRIES
from cmcompiler.ops.support.weight_groups import SIZES


class Every(nn.Module):
    """Each operator that has an int16 form, and movement between them."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.linear, self.sequence = nn.Linear(16, 10), nn.Conv1d(10, 4, 1)
        self.gru = nn.GRU(8, 6, batch_first=True)
        self.lstm = nn.LSTM(6, 12, proj_size=8, batch_first=True)
        self.layer, self.groups = nn.LayerNorm(8), nn.GroupNorm(2, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.offset = nn.Parameter(torch.randn(8))
        self.rnn = nn.RNN(8, 8, batch_first=True)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = self.depthwise(torch.relu(self.norm(self.conv(x))))
        y = self.up(torch.sigmoid(y) * y + y)
        y = nn.functional.gelu(torch.cat([y, y * 2.0], 1))
        y = nn.functional.max_pool2d(y, 2)
        means = y.mean((2, 3))
        rows = self.layer(self.groups(y).flatten(2).transpose(1, 2)) * self.offset
        rows = rows + self.attention(rows, rows, rows, need_weights=False)[0]
        steps = self.rnn(self.lstm(self.gru(rows)[0])[0])[0]
        y = self.linear(nn.functional.avg_pool2d(y, 2)[:, :4].flatten(1))
        y = torch.tanh(y) - y
        sizes = (means * means).sum(-1, keepdim=True) + torch.sqrt(means**2 + 1e-3)
        product = torch.bmm(means[:, None], means[:, :, None])
        leaky = nn.functional.leaky_relu(self.sequence(y[:, :, None]), 0.1)
        wide = nn.functional.interpolate(x, scale_factor=1.5, mode="bilinear")
        spread = torch.log_softmax(wide.flatten(2), 2).std(2) + wide.logsumexp((2, 3))
        shares = means.cumsum(1) / sizes
        return torch.softmax(y, -1), sizes, leaky, product, steps, spread, shares


DATA = [torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(n)) for n in range(16)]


@pytest.fixture(scope="module")
def module() -> nn.Module:
    torch.manual_seed(33)
    return Every().eval()


@pytest.fixture(scope="module")
def short(module: nn.Module) -> api.Compiled:
    return api.compile(module, DATA[0], DATA, activations="int16")


def test_all_activations_are_int16(short: api.Compiled) -> None:
    types = {tensor.dtype.name for node in short.graph.nodes for tensor in node.outputs}
    assert types == {"int16", "float32"}


def test_layers_are_faithful_and_near_float(module: nn.Module, short: api.Compiled) -> None:
    fidelity = short.fidelity
    assert fidelity.layers and not fidelity.unpaired
    assert [layer for layer in fidelity.layers if not layer.faithful] == []
    assert min(_decibels(module, short)) > 48


def test_kernels_equal_the_reference(short: api.Compiled, runtime: Runtime) -> None:
    runtime.check(Example(short.graph, (DATA[3].numpy(),)))


def test_ports_of_int16_are_exposed_if_there_are_any(short: api.Compiled) -> None:
    graph = build_graph(short.program, io="int16")
    assert {port.tensor.dtype.name for port in (*graph.inputs, *graph.outputs)} == {"int16"}
    plain = api.compile(nn.Linear(4, 3).eval(), torch.ones(1, 4))
    with pytest.raises(InvalidRequest, match="no input or output of the program is quantised to"):
        build_graph(plain.program, io="int16")


def test_weights_of_16_bits_leave_nothing_of_their_rounding(module: nn.Module) -> None:
    """Two layers of eight bits each, and two products in a recurrent one."""
    fine = api.compile(module, DATA[0], DATA, precision={"*": "16w16a"})
    assert fine.fidelity.faithful and not fine.fidelity.unpaired
    assert min(_decibels(module, fine)) > 58


def test_a_pattern_chooses_modules(module: nn.Module) -> None:
    mixed = api.compile(module, DATA[0], DATA, precision={"*": "8w16a", "up": "8w8a"})
    assert _types(mixed.graph, "transpose_conv2d") == {"int8"}
    assert _types(mixed.graph, "conv2d") == _types(mixed.graph, "linear") == {"int16"}
    assert mixed.fidelity.faithful


class Continued(nn.Module):
    """A projected LSTM that is given states, and gives its last ones."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.cells = nn.Linear(4, 8), nn.Linear(4, 24)
        self.lstm = nn.LSTM(6, 24, proj_size=8, batch_first=True)

    def forward(self, x: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        states = torch.tanh(self.hidden(z))[None], self.cells(z)[None]
        rows, (hidden, cells) = self.lstm(x, states)
        return rows, hidden, cells


def test_states_of_a_projected_lstm_are_int16(runtime: Runtime) -> None:
    torch.manual_seed(3)
    module = Continued().eval()
    samples = [(torch.randn(1, 5, 6), torch.randn(1, 4)) for _ in range(32)]
    compiled = api.compile(module, samples[0], samples, activations="int16")
    types = {tensor.dtype.name for node in compiled.graph.nodes for tensor in node.outputs}
    assert types == {"int16", "float32"}
    assert compiled.fidelity.faithful and not compiled.fidelity.unpaired
    assert integer_snr(module, compiled.pte, samples) > 48
    runtime.check(Example(compiled.graph, tuple(each.numpy() for each in samples[0])))


@pytest.mark.parametrize("factor", [0.0, 1.0])
def test_a_projection_of_dependent_outputs_keeps_int8(factor: float) -> None:
    """No units have the given outputs as their projection.

    Args:
        factor: by which the projection is scaled.
    """
    torch.manual_seed(3)
    module = Continued().eval()
    with torch.no_grad():
        module.lstm.weight_hr_l0[1] = module.lstm.weight_hr_l0[0]
        module.lstm.weight_hr_l0 *= factor
    samples = [(torch.randn(1, 5, 6), torch.randn(1, 4)) for _ in range(8)]
    compiled = api.compile(module, samples[0], samples, activations="int16")
    assert compiled.fidelity.faithful
    assert integer_snr(module, compiled.pte, samples) > 20


class Masked(nn.Module):
    """A choice by a mask that is an input."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return torch.where(~mask, x * 2.0, torch.zeros_like(x))


def test_masks_that_are_inputs_stay_bool() -> None:
    samples = [(x.flatten(1), x.flatten(1) > x.mean()) for x in DATA]
    compiled = api.compile(Masked().eval(), samples[0], samples, activations="int16")
    assert compiled.fidelity.faithful
    assert [port.dtype.name for port in compiled.contract.inputs] == ["float32", "bool"]
    assert integer_snr(Masked(), compiled.pte, samples) > 70


def test_patterns_are_checked() -> None:
    assert everywhere("int8") == () and everywhere("int16") == (("*", "8w16a"),)
    assert everywhere("int8", "int4") == (("*", "4w8a"),)
    assert everywhere("int8", "int4/64") == (("*", "4w8a/64"),)
    assert tuple(GROUPS.values()) == SIZES
    assert everywhere("int16", "int4") == (("*", "4w16a"),)
    assert everywhere("int16", "int16") == (("*", "16w16a"),)
    assert read_precision({"head": "8w8a"}, "net.py") == (("head", "8w8a"),)
    with pytest.raises(InvalidRequest, match=r"'4w' of 'head' is not 8w8a, 8w16a, .* or 16w16a"):
        read_precision({"head": "4w"}, "net.py")
    with pytest.raises(InvalidRequest, match="precision is not a mapping"):
        read_precision("8w16a", "net.py")
    with pytest.raises(InvalidRequest, match="activations 'int4' are not int8 or int16"):
        api.compile(nn.Identity(), DATA[0], activations="int4")
    with pytest.raises(InvalidRequest, match="weights 'int5' are not int8 or int4"):
        api.compile(nn.Identity(), DATA[0], weights="int5")
    with pytest.raises(InvalidRequest, match="int16 weights with int8 activations are not"):
        api.compile(nn.Identity(), DATA[0], weights="int16")
    with pytest.raises(InvalidRequest, match="int4/32 weights with int16 activations are not"):
        api.compile(nn.Identity(), DATA[0], activations="int16", weights="int4/32")


def test_a_clamp_joins_the_layer_before_it() -> None:
    define()
    module = nn.Sequential(nn.Linear(4, 3), nn.ReLU6(), nn.Linear(3, 2), nn.LeakyReLU())
    graph: GraphModule = torch.export.export(module.eval(), (torch.ones(1, 4),)).module()
    with torch.no_grad():
        make_short(graph, [("0", "8w16a"), ("1", "8w16a"), ("3", "8w16a")])
    calls = [node for node in graph.graph.nodes if node.op == "call_function"]
    names = [str(node.target) for node in calls if "linear" in str(node.target)]
    assert names == ["cmbuild.short_linear.default", "aten.linear.default"]
    assert calls[0].args[3:] == (0.0, 6.0)
    assert str(calls[-1].target) == "cmbuild.short_clamp.default"


def test_a_table_has_the_numbers_of_a_function() -> None:
    """Where a function has no value, that of zero stands in."""
    one = Quantization(1 / 32767, 0, -32767, 32767)
    table = interpolation_table("sqrt(x)", one, one).tolist()
    assert len(table) == 2 * ENTRIES
    assert table[1] == round(32767 * (1 / 32767) ** 0.5) and table[ENTRIES - 1] == 32767
    assert set(table[ENTRIES:]) == {0}


def _types(graph: Graph, label: str) -> set[str]:
    """Of the results of operators."""
    return {n.outputs[0].dtype.name for n in graph.nodes if n.op.label == label}


def _decibels(module: nn.Module, compiled: api.Compiled) -> list[float]:
    """Of each output, on calibration inputs."""
    with torch.no_grad():
        real = [[each.numpy() for each in module(sample)] for sample in DATA[:8]]
    samples = [[sample.numpy()] for sample in DATA[:8]]
    made = [each.outputs for each in evaluate_all(compiled.graph, samples)]
    pairs = [
        (np.stack(exact), np.stack(stored))
        for exact, stored in zip(zip(*real, strict=True), zip(*made, strict=True), strict=True)
    ]
    return [float(10 * np.log10((a**2).sum() / ((a - b) ** 2).sum())) for a, b in pairs]


def test_a_pattern_that_matches_no_module_is_refused() -> None:
    paths = {"", "encoder", "encoder.0", "head"}
    check_patterns((("*", "8w8a"), ("encoder.*", "8w16a"), ("head", "4w8a")), paths)
    with pytest.raises(InvalidRequest, match="precision 8w16a: no module matches") as near:
        check_patterns((("encoder1.*", "8w16a"),), paths)
    assert near.value.hint == "did you mean encoder?"
    with pytest.raises(InvalidRequest) as far:
        check_patterns((("zzz", "8w16a"),), paths)
    assert far.value.hint == "`cmbuild run --layers` shows their names"
