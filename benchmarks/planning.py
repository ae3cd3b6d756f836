#!/usr/bin/env python3
"""Seconds that plans of long programs and large images take.

    python benchmarks/planning.py [--isa mve] [--isa dsp] [--isa scalar] [PROGRAM.pte ...]

Processor time of this machine for whole plans: unrolled recurrences, a network of 200 spatial
operators at 56×56, and the programs named, with int8 inputs and rows where these save memory.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from harness.convolutions import Numbers

from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.movement.copy import Copy, Piece
from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ir.op import Op
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.minimum import Minimum
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.reader import read_program

INT8 = np.dtype(np.int8)
NUMBERS = Numbers(0)
HIDDEN, SIZE, CHANNELS = 16, 56, 32


class Builder:
    """A graph under way."""

    def __init__(self, *shape: int) -> None:
        self.input = Tensor("x", INT8, shape)
        self.nodes: list[Node] = []

    def add(self, op: Op, shape: tuple[int, ...], *inputs: Tensor) -> Tensor:
        output = Tensor(f"t{len(self.nodes)}", INT8, shape)
        self.nodes.append(Node(op, inputs, (output,), f"{op.label} #{len(self.nodes)}"))
        return output

    def smaller(self, x: Tensor, y: Tensor) -> Tensor:
        dense = Strided.dense(x.shape)
        return self.add(Minimum(Loops.over(dense, dense, dense), x.shape), x.shape, x, y)

    def part(self, x: Tensor, axis: int, start: int, size: int) -> Tensor:
        shape = tuple(size if i == axis else n for i, n in enumerate(x.shape))
        reads = Strided.dense(x.shape).slice(axis, start, size)
        op = Copy("slice", INT8, shape, (Piece(0, reads, Strided.dense(shape)),))
        return self.add(op, shape, x)

    def graph(self, output: Tensor) -> Graph:
        ports = (
            Port(tensor.name, tensor, tensor.shape, tuple(range(len(tensor.shape))))
            for tensor in (self.input, output)
        )
        return Graph("long", tuple(self.nodes), (next(ports),), (next(ports),))


def scales(channels: int) -> Requantize:
    return Requantize.checked([1 << 30], [-9], channels, zero_point=0, minimum=-128, maximum=127)


def recurrence(operators: int) -> Graph:
    """Steps of twelve operators, as a gated cell has them, unrolled."""
    build = Builder(operators // 12, HIDDEN)
    table = Activation(NUMBERS.int8(256).tobytes())
    gates = Linear(
        NUMBERS.int8(3 * HIDDEN, HIDDEN), NUMBERS.biases(3 * HIDDEN), scales(3 * HIDDEN), 1
    )
    state = build.part(build.input, 0, 0, 1)
    for step in range(operators // 12):
        x = build.part(build.input, 0, step, 1)
        wide = (1, 3 * HIDDEN)
        sums = build.smaller(build.add(gates, wide, x), build.add(gates, wide, state))
        opened = build.add(table, wide, sums)
        reset, update, fresh = (build.part(opened, 1, k * HIDDEN, HIDDEN) for k in range(3))
        fresh = build.add(table, fresh.shape, build.smaller(reset, fresh))
        state = build.smaller(build.smaller(update, fresh), state)
    return build.graph(state)


def images(operators: int) -> Graph:
    """Residual blocks of four operators."""
    shape = (1, SIZE, SIZE, CHANNELS)
    build = Builder(*shape)
    ends, around = Window((1, 1)), Window((3, 3), padding=(1, 1))
    biases, scale = NUMBERS.biases(CHANNELS), scales(CHANNELS)
    mixing = Conv2d(NUMBERS.int8(CHANNELS, 1, 1, CHANNELS), biases, ends, 0, scale, shape)
    spatial = DepthwiseConv2d(NUMBERS.int8(3, 3, CHANNELS), biases, around, 0, scale, shape)
    last = build.input
    for _ in range(operators // 4):
        made = build.add(spatial, shape, build.add(mixing, shape, last))
        last = build.smaller(build.add(mixing, shape, made), last)
    return build.graph(last)


def cases(programs: list[Path]) -> Iterator[tuple[str, Graph]]:
    for operators in (1200, 2400, 4800):
        yield f"recurrence of {operators} operators", recurrence(operators)
    yield "200 operators on images", images(200)
    for file in programs:
        yield file.stem, build_graph(read_program(file.read_bytes()), "forward", "int8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", nargs="*", type=Path)
    parser.add_argument("--isa", action="append", choices=[isa.label for isa in Isa])
    chosen = parser.parse_args()
    for name, graph in cases(chosen.programs):
        for isa in map(Isa.named, chosen.isa or ["mve"]):
            start = time.process_time()
            plan = make_plan(graph, isa, PlanOptions(feed=None))
            seconds = time.process_time() - start
            print(f"{name:32} {isa.label:7} {seconds:6.2f} s  arena {plan.arena_bytes:9,}")


if __name__ == "__main__":
    main()
