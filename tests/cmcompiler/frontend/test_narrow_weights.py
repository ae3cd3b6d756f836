"""Modules with weights of four bits: which layers have them, how they are rounded and lowered."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from harness.examples import Example
from harness.runtime import Runtime
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.frontend.chosen_precision import is_named, precision_of
from cmcompiler.frontend.operators.channel_linear import LIBRARY
from cmcompiler.frontend.passes.channel_linears import LowerChannelLinears
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.ops.support.nibbles import LARGEST


class Layers(nn.Module):
    """Layers whose weights may be narrow, and such as stay bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 10, 3, padding=1), nn.BatchNorm2d(10)
        self.wide = nn.Conv2d(10, 37, 1)
        self.depthwise = nn.Conv2d(37, 37, 3, padding=1, groups=37)
        self.up = nn.ConvTranspose2d(37, 9, 2, stride=2)
        self.hidden, self.head, self.tiny = nn.Linear(9, 33), nn.Linear(33, 11), nn.Linear(11, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = nn.functional.relu6(self.wide(torch.relu(self.norm(self.stem(x)))))
        y = self.up(self.depthwise(y)).mean((2, 3))
        return self.tiny(self.head(torch.relu(self.hidden(y))))


DATA = [torch.randn(1, 3, 9, 9, generator=torch.Generator().manual_seed(n)) for n in range(8)]


@pytest.fixture(scope="module")
def narrow() -> api.Compiled:
    torch.manual_seed(44)
    precision = {"head": "8w8a", "depthwise": "4w8a"}
    return api.compile(Layers().eval(), DATA[0], DATA, weights="int4", precision=precision)


def test_layers_are_faithful_with_weights_of_four_bits(narrow: api.Compiled) -> None:
    largest = {
        tuple(sorted(weights.shape)): int(np.abs(weights.astype(int)).max())
        for weights in (getattr(node.op, "weights", None) for node in narrow.graph.nodes)
        if weights is not None
    }
    few = {(3, 3, 3, 10), (1, 1, 10, 37), (3, 3, 37), (2, 2, 9, 37), (9, 33)}
    assert {shape for shape, most in largest.items() if most <= LARGEST} == few
    assert len(largest) == len(few) + 2  # tiny, and the one that a pattern leaves out
    fidelity = narrow.fidelity
    assert fidelity.layers and not fidelity.unpaired
    assert [layer for layer in fidelity.layers if not layer.faithful] == []


def test_kernels_equal_the_reference(narrow: api.Compiled, runtime: Runtime) -> None:
    runtime.check(Example(narrow.graph, (DATA[3].numpy(),)))


def test_linear_layers_have_a_scale_for_each_channel(narrow: api.Compiled) -> None:
    assert LIBRARY and LowerChannelLinears
    assert b"cmbuild::channel_linear_s8" in narrow.pte
    (op,) = (n.op for n in narrow.graph.nodes if getattr(n.op, "macs", 0) == 9 * 33)
    assert len(set(op.requantize.multipliers)) > 1


def test_the_last_matching_pattern_chooses() -> None:
    node = torch.fx.Graph().placeholder("x")
    node.meta["nn_module_stack"] = {"a": ("encoder", "Encoder"), "b": ("encoder.0", "Conv2d")}
    assert precision_of(node, ()) == "8w8a"
    assert is_named(node, [("*", "4w8a"), ("encoder", "4w8a")])
    assert not any(is_named(node, each) for each in ([], [("encoder", "4w8a"), ("*", "8w8a")]))
    assert precision_of(node, [("encoder.*", "4w8a"), ("*.1", "8w8a")]) == "4w8a"
    assert precision_of(node, [("encoder.*", "4w8a"), ("*", "8w16a")]) == "8w16a"


def test_narrow_weights_keep_most_of_a_layer(narrow: api.Compiled) -> None:
    torch.manual_seed(44)
    module = Layers().eval()
    with torch.no_grad():
        real = np.stack([module(sample).numpy() for sample in DATA])
    made = [each.outputs[0] for each in evaluate_all(narrow.graph, [[x.numpy()] for x in DATA])]
    error = ((real - np.stack(made)) ** 2).sum()
    assert 10 * np.log10((real**2).sum() / error) > 15


class Wide(nn.Module):
    """Layers with several groups of columns, and such as have one."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.hidden = nn.Conv2d(3, 40, 3), nn.Conv2d(40, 32, 1)
        self.spread, self.head = nn.Conv2d(32, 16, 3), nn.Linear(16 * 25, 11)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.hidden(torch.relu(self.stem(x))))
        return self.head(torch.relu(self.spread(y)).flatten(1))


@pytest.fixture(scope="module")
def wide() -> nn.Module:
    torch.manual_seed(45)
    return Wide().eval()


def test_groups_of_columns_have_a_scale_each(wide: nn.Module, runtime: Runtime) -> None:
    made = api.compile(wide, DATA[0], DATA, weights="int4/32", precision={"spread": "4w8a/128"})
    sizes = {
        node.op.macs: groups and groups.size
        for node in made.graph.nodes
        if hasattr(node.op, "weights")
        for groups in [node.op._filters.groups]
    }
    assert sizes == {40 * 27 * 49: None, 40 * 32 * 49: 32, 32 * 9 * 16 * 25: None, 4400: 32}
    assert made.fidelity.faithful and not made.fidelity.unpaired
    runtime.check(Example(made.graph, (DATA[3].numpy(),)))


def test_layers_of_int16_have_weights_of_four_bits(wide: nn.Module, runtime: Runtime) -> None:
    made = api.compile(wide, DATA[0], DATA, activations="int16", weights="int4")
    weights = [node.op.weights for node in made.graph.nodes if hasattr(node.op, "weights")]
    assert [int(np.abs(each.astype(int)).max()) for each in weights] == [LARGEST] * 4
    assert made.fidelity.faithful and not made.fidelity.unpaired
    runtime.check(Example(made.graph, (DATA[3].numpy(),)))
