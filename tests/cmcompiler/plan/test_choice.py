"""The choice of streams."""

from __future__ import annotations

import numpy as np
import pytest
from harness.convolutions import Numbers

from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.op import Op
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window
from cmcompiler.plan import choice
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan

SHAPE = (1, 25, 5, 64)


def separable(blocks: int) -> Graph:
    """Depthwise convolutions of three rows and pointwise ones of one in turn."""
    channels, numbers = SHAPE[3], Numbers(0)
    bias = numbers.biases(channels)
    scale = Requantize.checked([1 << 30], [-9], channels, zero_point=0, minimum=-128, maximum=127)
    around, inside = Window((3, 3), padding=(1, 1)), Window((1, 1))
    spatial = DepthwiseConv2d(numbers.int8(3, 3, channels), bias, around, 0, scale, SHAPE)
    mixing = Conv2d(numbers.int8(channels, 1, 1, channels), bias, inside, 0, scale, SHAPE)
    ops: list[Op] = [spatial, mixing] * blocks
    tensors = [Tensor(f"t{index}", np.dtype(np.int8), SHAPE) for index in range(len(ops) + 1)]
    nodes = tuple(
        Node(op, (tensors[index],), (tensors[index + 1],), f"{op.label} #{index}")
        for index, op in enumerate(ops)
    )
    ports = [Port(x.name, x, x.shape, (0, 1, 2, 3)) for x in (tensors[0], tensors[-1])]
    return Graph("separable", nodes, (ports[0],), (ports[1],))


def test_groups_that_move_outputs_equally_far_share_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = separable(4)
    options = PlanOptions(surcharge=float("inf"))
    evened = make_plan(graph, Isa.MVE, options).arena_bytes
    assert evened < 2 * int(np.prod(SHAPE))
    monkeypatch.setattr(choice._Trial, "_evened", lambda *_: ())
    assert evened < make_plan(graph, Isa.MVE, options).arena_bytes
