"""Modules with weights of four bits: which layers have them, how they are rounded and lowered."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from harness.examples import Example
from harness.runtime import Runtime
from torch import Tensor, nn

from cmcompiler import api
from cmcompiler.frontend.chosen_precision import precision_of
from cmcompiler.frontend.narrow_weights import NarrowPerChannelObserver
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
    precision = {"head": "8w8a"}
    return api.compile(Layers().eval(), DATA[0], DATA, weights="int4", precision=precision)


def test_layers_are_faithful_with_weights_of_four_bits(narrow: api.Compiled) -> None:
    largest = {
        tuple(sorted(weights.shape)): int(np.abs(weights.astype(int)).max())
        for weights in (getattr(node.op, "weights", None) for node in narrow.graph.nodes)
        if weights is not None
    }
    few = {(3, 3, 3, 10), (1, 1, 10, 37), (2, 2, 9, 37), (9, 33)}
    assert {shape for shape, most in largest.items() if most <= LARGEST} == few
    assert len(largest) == len(few) + 3  # depthwise, tiny, and the one that a pattern leaves out
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


def test_a_step_is_the_one_of_least_error() -> None:
    """Clipped or not, each channel is rounded no worse than by its largest weight."""
    weights = torch.randn(6, 40, generator=torch.Generator().manual_seed(1))
    weights[2, 5], weights[3] = 9.0, 0.0
    bounds = {"quant_min": -LARGEST, "quant_max": LARGEST, "dtype": torch.int8}
    observer = NarrowPerChannelObserver(0, qscheme=torch.per_channel_symmetric, **bounds)
    observer(weights)

    def error(steps: Tensor) -> Tensor:
        rounded = (weights / steps[:, None]).round().clamp(-LARGEST, LARGEST) * steps[:, None]
        return (rounded - weights).square().sum(1)

    steps, _ = observer.calculate_qparams()
    plain = weights.abs().amax(1).clamp(min=1e-6) / LARGEST
    assert (error(steps) <= error(plain)).all() and error(steps)[2] < error(plain)[2]
    observer(2 * weights)
    assert torch.allclose(observer.calculate_qparams()[0][:2], 2 * steps[:2])


def test_the_last_matching_pattern_chooses() -> None:
    node = torch.fx.Graph().placeholder("x")
    node.meta["nn_module_stack"] = {"a": ("encoder", "Encoder"), "b": ("encoder.0", "Conv2d")}
    assert precision_of(node, ()) == "8w8a"
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
