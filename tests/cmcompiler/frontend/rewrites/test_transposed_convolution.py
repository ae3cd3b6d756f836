"""Output padding, dilation and groups as weights of zero."""

from __future__ import annotations

import pytest
import torch
from harness.rewriting import rewritten, targets
from torch import nn

from cmcompiler.frontend.rewrites.editing import named_arguments
from cmcompiler.frontend.rewrites.transposed_convolution import spread_taps


@pytest.mark.parametrize(
    "settings",
    [
        {"stride": 2, "padding": 1, "output_padding": 1},
        {"stride": (3, 2), "padding": (0, 2), "output_padding": (2, 0), "dilation": (1, 3)},
        {"dilation": 2, "groups": 2, "bias": False},
    ],
)
def test_none_is_left(settings):
    layer = nn.ConvTranspose2d(4, 6, 3, **settings)
    graph = rewritten(layer, torch.randn(2, 4, 5, 6), by=spread_taps)
    assert targets(graph) == ["aten.conv_transpose2d.input"]
    (node,) = [n for n in graph.graph.nodes if n.op == "call_function"]
    given = named_arguments(node)
    assert (given["output_padding"], given["dilation"], given["groups"]) == ([0, 0], [1, 1], 1)
