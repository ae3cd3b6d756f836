"""Layers with int16 activations whose rounding makes up for its own errors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.fx import Graph, GraphModule

from cmcompiler.frontend.short_rounding import ShortLayer

_OPS = torch.ops.cmbuild


def random(*shape: int, seed: int = 5) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


LAYERS = {
    "linear": (_OPS.short_linear.default, (3, 7), (5, 7), ()),
    "conv": (_OPS.short_conv2d.default, (1, 4, 6, 5), (6, 2, 3, 2), ([2, 1], [1, 0], [1, 2], 2)),
    "transposed": (
        *(_OPS.short_conv_transpose2d.default, (1, 4, 3, 5), (6, 4, 3, 2)),
        ([2, 3], [1, 0], [2, 1], [1, 2]),
    ),
    "beyond": (
        *(_OPS.short_conv_transpose2d.default, (1, 2, 5, 5), (3, 2, 2, 3)),
        ([1, 2], [2, 1], [1, 1], [0, 1]),
    ),
}


def layer_of(target: Any, weight: Tensor, rest: tuple[Any, ...]) -> ShortLayer:
    graph = Graph()
    x, held = graph.placeholder("x"), graph.get_attr("weight")
    node = graph.call_function(target, (x, held, None, *rest))
    graph.output(node)
    module = nn.Module()
    module.register_parameter("weight", nn.Parameter(weight))
    made = GraphModule(module, graph)
    node = next(node for node in made.graph.nodes if node.op == "call_function")
    return ShortLayer(node, node.args)


@pytest.mark.parametrize("name", LAYERS)
def test_columns_times_weights_are_the_sums(name: str) -> None:
    target, shape, weights, rest = LAYERS[name]
    x, weight = random(*shape), random(*weights, seed=6)
    columns = layer_of(target, weight, rest).columns(1, x, x)
    groups = len(columns)
    rows = weight.flatten(1).reshape(groups, len(weight) // groups, -1)
    sums = rows @ columns.transpose(1, 2)
    result = target(x, weight, None, *rest)
    expected = result if x.ndim == 2 else result.movedim(1, -1).flatten(0, -2)
    assert torch.allclose(sums.flatten(0, 1).T, expected)


@pytest.mark.parametrize("is_reverse", [False, True])
def test_outputs_before_each_step_of_a_recurrent_layer(is_reverse: bool) -> None:
    x, result = random(1, 5, 3), random(1, 5, 2, seed=6)
    args = (None,) * 6 + (15, 0, True, is_reverse)
    node: Any = SimpleNamespace(target=_OPS.short_gru.default, args=args)
    before = ShortLayer(node, args).columns(3, x, result)[0]
    walked = result[0].flip(0) if is_reverse else result[0]
    seen = before.flip(0) if is_reverse else before
    assert torch.equal(seen[1:], walked[:-1]) and not seen[0].any()
    first = random(1, 1, 2, seed=7)
    both = torch.cat([result, first] if is_reverse else [first, result], 1)
    begun = ShortLayer(node, args).columns(3, x, both)[0]
    assert torch.equal((begun.flip(0) if is_reverse else begun)[0], first[0, 0])
