#!/usr/bin/env python3
"""Instruction counts of single layers on each instruction set, next to CMSIS-NN's if known.

    python benchmarks/kernels.py [--isa mve] [--isa dsp] [--isa scalar] [--board NAME] [PATTERN]

Counted by QEMU's Corstone-300 unless another board is given, so DSP and plain C code also runs on a
Cortex-M55. Every layer is checked bit by bit against the reference before its figure is shown.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from harness.calls import In, Out, calling
from harness.examples import Example, single
from harness.images import kernel_harness
from harness.runtime import Machine, Runtime

from cmcompiler.emit.harness_batch import Case
from cmcompiler.ir.op import Op
from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.normalization import Normalization
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan

WHOLE = PlanOptions(streams=False)

NUMBERS = np.random.default_rng(0)


@dataclass(frozen=True)
class Layer:
    """A layer with an input.

    Attributes:
        cmsis_nn: thousands of instructions of CMSIS-NN's best build on a Cortex-M55 with MVE.
    """

    name: str
    example: Example
    cmsis_nn: int | None = None

    @property
    def op(self) -> Op:
        return self.example.graph.nodes[0].op


def requantize(channels: int, depth: int, relu: bool) -> Requantize:
    """Random scales that map sums of `depth` random products to int8."""
    shift = -7 - int(np.log2(depth) / 2)
    return Requantize.checked(
        NUMBERS.integers(1 << 30, 1 << 31, channels).tolist(),
        [shift] * channels,
        channels,
        zero_point=-128 if relu else -5,
        minimum=-128,
        maximum=127,
    )


def int8(*shape: int) -> np.ndarray:
    return NUMBERS.integers(-127, 128, shape, dtype=np.int8)


def bias(channels: int) -> np.ndarray:
    return NUMBERS.integers(-1000, 1000, channels, dtype=np.int32)


def image(text: str) -> tuple[int, int, int]:
    height, width, channels = map(int, text.split("x"))
    return height, width, channels


def window(kernel: int, stride: int) -> Window:
    return Window((kernel, kernel), (stride, stride), (kernel // 2, kernel // 2))


def conv(text: str, outputs: int, kernel: int = 1, stride: int = 1, relu: bool = True) -> Example:
    height, width, channels = image(text)
    geometry = window(kernel, stride)
    op = Conv2d(
        int8(outputs, kernel, kernel, channels),
        bias(outputs),
        geometry,
        -3,
        requantize(outputs, kernel * kernel * channels, relu),
        (1, *geometry.output_size((height, width)), outputs),
    )
    return single(op, int8(1, height, width, channels))


def depthwise(text: str, kernel: int = 3, stride: int = 1, relu: bool = True) -> Example:
    height, width, channels = image(text)
    geometry = window(kernel, stride)
    op = DepthwiseConv2d(
        int8(kernel, kernel, channels),
        bias(channels),
        geometry,
        -3,
        requantize(channels, kernel * kernel, relu),
        (1, *geometry.output_size((height, width)), channels),
    )
    return single(op, int8(1, height, width, channels))


def linear(features: int, outputs: int) -> Example:
    op = Linear(int8(outputs, features), bias(outputs), requantize(outputs, features, False), 1)
    return single(op, int8(1, features))


def floats(*shape: int) -> np.ndarray:
    return NUMBERS.standard_normal(shape, np.float32)


NHWC = (0, 2, 3, 1)


def float_conv(
    shape: tuple[int, ...],
    weights: tuple[int, ...],
    groups: int = 1,
    order: tuple[int, ...] | None = None,
    transposed: bool = False,
) -> Example:
    """Strides are 2 if it is transposed, else 1."""
    rank = len(shape) - 2
    padding, ones = tuple(n // 2 for n in weights[2:]), (1,) * rank
    stride = (2,) * rank if transposed else ones
    extra = ones if transposed else (0,) * rank
    channels = weights[1] * groups if transposed else weights[0]
    sizes = [2 * n if transposed else n for n in shape[2:]]
    return calling(
        "aten::convolution.out",
        In(floats(*shape), order),
        In(floats(*weights), constant=True),
        In(floats(channels), constant=True),
        *(stride, padding, ones, transposed, extra, groups),
        Out(np.float32, (shape[0], channels, *sizes), order),
    )


def product(lhs: tuple[int, ...], rhs: tuple[int, ...], order: tuple[int, ...]) -> Example:
    """Args: order: of the dimensions of rhs in memory."""
    out = Out(np.float32, (*lhs[:-1], rhs[-1]))
    return calling("aten::bmm.out", In(floats(*lhs)), In(floats(*rhs), order), out)


def float_linear(rows: int, features: int, outputs: int) -> Example:
    weights, added = (In(floats(*s), constant=True) for s in ((outputs, features), (outputs,)))
    out = Out(np.float32, (rows, outputs))
    return calling("aten::linear.out", In(floats(rows, features)), weights, added, out)


def layer_norm(rows: int, size: int) -> Example:
    op = Normalization((rows, size), size, run=1, cycle=1, eps=1e-5, has_weight=True, has_bias=True)
    return single(op, floats(rows, size), floats(size), floats(size), constants=(1, 2))


def float_layers() -> Iterator[Layer]:
    image = (1, 16, 14, 14)
    yield Layer("float conv 3x3 14x14x16->16", float_conv(image, (16, 16, 3, 3), order=NHWC))
    yield Layer("float conv 3x3 16x14x14->16", float_conv(image, (16, 16, 3, 3)))
    yield Layer("float conv 3x3 28x28x3->8", float_conv((1, 3, 28, 28), (8, 3, 3, 3), order=NHWC))
    yield Layer("float conv 1x1 14x14x16->32", float_conv(image, (32, 16, 1, 1), order=NHWC))
    yield Layer("float conv 1x1 7x7x64->64", float_conv((1, 64, 7, 7), (64, 64, 1, 1), order=NHWC))
    yield Layer("float conv1d 5 64x16->32", float_conv((1, 16, 64), (32, 16, 5)))
    yield Layer("float depthwise 3x3 14x14x16", float_conv(image, (16, 1, 3, 3), 16, NHWC))
    yield Layer("float depthwise 3x3 16x14x14", float_conv(image, (16, 1, 3, 3), 16))
    yield Layer(
        "float transposed 3x3 s2 14x14x16->8", float_conv(image, (16, 8, 3, 3), 1, NHWC, True)
    )
    yield Layer("float linear 128->96", float_linear(1, 128, 96))
    yield Layer("float linear 32x64->64", float_linear(32, 64, 64))
    yield Layer("float bmm 4x32x32x32", product((4, 32, 32), (4, 32, 32), (0, 1, 2)))
    yield Layer("float bmm 4x32x16x32, transposed", product((4, 32, 16), (4, 16, 32), (0, 2, 1)))
    yield Layer("float layer_norm 32x64", layer_norm(32, 64))
    x = In(floats(32, 32))
    same = Out(np.float32, (32, 32))
    yield Layer("float softmax 32x32", calling("aten::_softmax.out", x, 1, False, same))
    for name in ("add", "mul", "div"):
        arguments = [x, In(floats(32, 32)), *([1] if name == "add" else [])]
        yield Layer(f"float {name} 1024", calling(f"aten::{name}.out", *arguments, same))
    for name in ("relu", "hardswish", "sigmoid", "tanh", "sqrt"):
        yield Layer(f"float {name} 1024", calling(f"aten::{name}.out", x, same))
    yield Layer("float gelu 1024", calling("aten::gelu.out", x, "none", same))
    pixels = In(floats(*image), NHWC)
    pool = Out(np.float32, (1, 16, 7, 7), NHWC)
    args = ((2, 2), (2, 2), (0, 0), False, True, None)
    yield Layer("float avg_pool 2x2 14x14x16", calling("aten::avg_pool2d.out", pixels, *args, pool))
    pool_places = Out(np.int64, (1, 16, 7, 7), NHWC)
    arguments = ((2, 2), (2, 2), (0, 0), (1, 1), False, pool, pool_places)
    yield Layer(
        "float max_pool 2x2 14x14x16, and places",
        calling("aten::max_pool2d_with_indices.out", pixels, *arguments),
    )
    mean = Out(np.float32, (1, 16, 1, 1), NHWC)
    yield Layer("float mean 14x14x16", calling("aten::mean.out", pixels, (2, 3), True, None, mean))


def layers() -> Iterator[Layer]:
    yield Layer("conv 1x1 14x14x384->64", conv("14x14x384", 64), 989)
    yield Layer("conv 1x1 7x7x160->960", conv("7x7x160", 960), 1932)
    yield Layer("conv 1x1 14x14x64->384", conv("14x14x64", 384), 1789)
    yield Layer("conv 1x1 56x56x24->144", conv("56x56x24", 144), 8266)
    yield Layer("conv 3x3 s2 224x224x3->32", conv("224x224x3", 32, 3, 2), 11000)
    yield Layer("conv 3x3 32x32x16->16", conv("32x32x16", 16, 3))
    yield Layer("conv 3x3 8x8x64->64", conv("8x8x64", 64, 3))
    yield Layer("linear 1280->1000", linear(1280, 1000), 211)
    yield Layer("linear 128->128", linear(128, 128))
    yield Layer("depthwise 3x3 14x14x384 ReLU", depthwise("14x14x384"), 1446)
    yield Layer("depthwise 3x3 14x14x384", depthwise("14x14x384", relu=False), 1446)
    yield Layer("depthwise 3x3 112x112x32", depthwise("112x112x32"), 9431)
    yield Layer("depthwise 3x3 56x56x144", depthwise("56x56x144"), 9074)
    yield Layer("depthwise 3x3 s2 56x56x144", depthwise("56x56x144", 3, 2), 2270)
    yield Layer("depthwise 3x3 7x7x960", depthwise("7x7x960"))
    yield Layer("depthwise 3x3 25x5x64", depthwise("25x5x64"))
    yield Layer("depthwise 5x5 14x14x240", depthwise("14x14x240", 5))
    yield Layer("depthwise 5x5 s2 14x14x288", depthwise("14x14x288", 5, 2))
    yield from float_layers()


def instructions(board: str, isa: str, measured: list[Layer], folder: Path) -> list[int]:
    """Instructions of each layer's kernels."""
    harness = kernel_harness(board, isa, folder)
    machine = Machine(board, harness, Isa.named(isa), folder)
    Runtime(machine).check(*(layer.example for layer in measured))
    # A stream's ticks hold those of its stages.
    plans = [make_plan(layer.example.graph, machine.isa, WHOLE) for layer in measured]
    cases = [
        Case.of(plan, layer.example.inputs) for plan, layer in zip(plans, measured, strict=True)
    ]
    return [
        harness.launcher.instructions(sum(result.ticks)) or 0 for result in machine.execute(cases)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pattern", nargs="?", default="*", help="of the layers' names")
    parser.add_argument("--board", default="corstone300", help="one with QEMU")
    parser.add_argument("--isa", action="append", choices=["scalar", "dsp", "mve"])
    options = parser.parse_args()
    chosen = [layer for layer in layers() if fnmatch.fnmatch(layer.name, options.pattern)]
    for isa in options.isa or ["mve"]:
        with tempfile.TemporaryDirectory() as folder:
            counts = instructions(options.board, isa, chosen, Path(folder))
        print(f"| {isa} | MACs | instructions | MAC/instruction | CMSIS-NN, MVE | ratio |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for layer, count in zip(chosen, counts, strict=True):
            known = isa == "mve" and layer.cmsis_nn is not None
            cmsis_nn = 1000 * (layer.cmsis_nn or 0)
            beside = f"{cmsis_nn:,} | {cmsis_nn / count:.2f}" if known else "|"
            rate = layer.op.macs / count
            print(f"| {layer.name} | {layer.op.macs:,} | {count:,} | {rate:.2f} | {beside} |")


if __name__ == "__main__":
    main()
