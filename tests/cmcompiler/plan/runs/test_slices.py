"""A convolution before a mean takes memory for some channels at a time, with their constants."""

from __future__ import annotations

import numpy as np
import pytest
from harness.convolutions import Numbers
from harness.run_graphs import patched

from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.op import TILES, Packed, PackedPart
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.avg_pool2d import AvgPool2d
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan
from cmcompiler.plan.runs.chains import tails
from cmcompiler.plan.runs.slices import SlicedRun

SIDE, DEPTH, CHANNELS, SLICE = 5, 24, 320, 32


@pytest.fixture(scope="module")
def graph() -> Graph:
    data, int8 = Numbers(1), np.dtype(np.int8)
    sizes = {"x": (SIDE, SIDE, DEPTH), "image": (SIDE, SIDE, CHANNELS), "y": (1, 1, CHANNELS)}
    x, image, y = (Tensor(name, int8, (1, *size)) for name, size in sizes.items())
    multipliers = [(1 << 30) + 1000 * channel for channel in range(CHANNELS)]
    scale = Requantize.checked(
        multipliers, [-8] * CHANNELS, CHANNELS, zero_point=0, minimum=-128, maximum=127
    )
    # As quantizers make them: two of -128 in a channel would be another kernel for its slice.
    weights = np.maximum(data.int8(CHANNELS, 1, 1, DEPTH), -127)
    bias = data.biases(CHANNELS)
    convolution = Conv2d(weights, bias, Window((1, 1)), 3, scale, image.shape)
    mean = AvgPool2d(Window((SIDE, SIDE), (SIDE, SIDE)), y.shape)
    nodes = (Node(convolution, (x,), (image,), "c"), Node(mean, (image,), (y,), "m"))
    ports = [Port(tensor.name, tensor, tensor.shape, (0, 1, 2, 3)) for tensor in (x, y)]
    return Graph("tail", nodes, (ports[0],), (ports[1],))


@pytest.mark.parametrize("isa", list(Isa))
def test_each_slice_has_the_constants_of_its_channels(graph: Graph, isa: Isa) -> None:
    (tail,) = tails(graph)
    node = tail.in_slices(SLICE)
    assert isinstance(node.op, SlicedRun)
    (row_call,) = node.op.row_calls(node.inputs, node.outputs, isa)
    tiled, convolution = row_call.tiled[0], graph.nodes[0].op
    assert isinstance(convolution, Conv2d)
    (at,) = (at for at, (name, _) in enumerate(tiled.call.arguments) if name == "weights")
    (patch,) = tiled.patches
    (first,) = (word for name, word in tiled.call.arguments if name == "weights")
    for number in range(CHANNELS // SLICE):
        place = patched(first, patch, number, CHANNELS // SLICE)
        assert isinstance(place, PackedPart)
        chosen = np.arange(CHANNELS) // SLICE == number
        own = convolution.of_channels(
            convolution.weights[chosen],
            convolution.bias[chosen],
            convolution.requantize.select(chosen),
        )
        image = Tensor("image", np.dtype(np.int8), (1, SIDE, SIDE, SLICE))
        (call,) = own.kernel_calls(node.inputs, (image,), isa)
        expected = call.arguments[at][1]
        assert isinstance(expected, Packed)
        data = place.packed.data[place.offset :]
        assert data[: len(expected.data)] == expected.data


@pytest.mark.parametrize("isa", list(Isa))
def test_a_budget_brings_them(graph: Graph, isa: Isa) -> None:
    rows = make_plan(graph, isa, PlanOptions(surcharge=float("inf")))
    plan = make_plan(graph, isa, PlanOptions(budget=rows.arena_bytes // 2))
    assert any(step.kernel == TILES for step in plan.steps)
    # The input and the output are whole.
    whole = SIDE * SIDE * DEPTH + CHANNELS
    assert plan.arena_bytes < whole + 2 * SIDE * SIDE * SLICE + 1024
