"""Which constants that no observer sees are rounded to four bits."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.fx import GraphModule

from cmcompiler.frontend.narrow_constants import hold_narrow, mark_narrow
from cmcompiler.frontend.narrow_observers import holds_nibbles, is_large
from cmcompiler.frontend.operators import define
from cmcompiler.frontend.operators.recurrent import pack_rows
from cmcompiler.frontend.operators.short import stored_weights
from cmcompiler.frontend.rewrites.editing import constant_value
from cmcompiler.frontend.rewrites.recurrent import rewrite_recurrent
from cmcompiler.frontend.rewrites.short import make_short
from cmcompiler.ir.quantization import Quantization


def weights(precision: str, named: str = "*") -> list[Tensor]:
    """Of a convolution, a depthwise one, a linear layer and a tiny one."""
    define()
    torch.manual_seed(3)
    layers = nn.Conv2d(3, 32, 3), nn.Conv2d(32, 32, 3, groups=32), nn.Flatten()
    module = nn.Sequential(*layers, nn.Linear(32, 20), nn.Linear(20, 2)).eval()
    graph: GraphModule = torch.export.export(module, (torch.ones(1, 3, 5, 5),)).module()
    with torch.no_grad():
        make_short(graph, [("*", precision)])
        mark_narrow(graph, [("*", precision), (named, precision)])
        hold_narrow(graph)
    layers = [node for node in graph.graph.nodes if str(node.target).startswith("cmbuild.short")]
    return [constant_value(layer.args[1]) for layer in layers]


def test_large_layers_are_rounded() -> None:
    held = [holds_nibbles(weight.flatten(1)) for weight in weights("4w16a")]
    assert held == [True, False, True, False]
    assert [holds_nibbles(weight.flatten(1)) for weight in weights("4w16a", "1")] == [
        *(True, True, True, False)
    ]
    assert not any(holds_nibbles(weight.flatten(1)) for weight in weights("8w16a"))


def test_what_four_bits_hold_is_stored_so() -> None:
    largest = [int(stored_weights(weight)[0].abs().max()) for weight in weights("4w16a")]
    assert largest == [7, 127, 7, 127]


@pytest.mark.filterwarnings("ignore:The tensor attributes:UserWarning")
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("precision", ["4w8a", "4w16a"])
def test_gates_are_rounded(kind: str, precision: str) -> None:
    define()
    torch.manual_seed(3)
    module = getattr(nn, kind)(12, 20).eval()
    graph: GraphModule = torch.export.export(module, (torch.ones(3, 1, 12),)).module()
    with torch.no_grad():
        rewrite_recurrent(graph)
        make_short(graph, [("*", precision)])
        mark_narrow(graph, [("*", precision)])
        hold_narrow(graph)
    (layer,) = (node for node in graph.graph.nodes if str(node.target).startswith("cmbuild."))
    first = 3 if kind == "LSTM" else 2
    for weight in map(constant_value, layer.args[first : first + 2]):
        assert (holds_nibbles(weight), is_large(weight)) in [(True, True), (False, False)]
        stored, *_ = pack_rows(weight, None, Quantization(0.1, 0, -128, 127), 4096.0)
        assert int(stored.abs().max()) == (7 if is_large(weight) else 127)
