#!/usr/bin/env python3
"""Instructions of layers that public networks use besides the well-known ones.

    python benchmarks/everyday.py [--board NAME]... [PATTERN]

Depthwise windows of one row or column, channel multipliers, general roundings, comparisons,
broadcasts, small products. Every layer is checked bit by bit before its figure is shown. By default
on Corstone-300 (M55), mps2-an386 (M4) and microbit (M0+).
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from harness.calls import In, Out, calling
from harness.examples import Example, single
from kernels import (
    NUMBERS,
    Layer,
    bias,
    instructions,
    int8,
    requantize,
)

from cmcompiler.ops.avg_pool2d import AvgPool2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.grouped_conv2d import GroupedConv2d
from cmcompiler.ops.support.window import Window

ISAS = {"corstone300": "mve", "mps2-an386": "dsp", "microbit": "scalar"}


def depthwise(
    size: tuple[int, int, int],
    kernel: tuple[int, int],
    dilation: tuple[int, int] = (1, 1),
    stride: tuple[int, int] = (1, 1),
    *,
    general: bool = False,
) -> Example:
    """
    Args:
        general: one scale above 1, which no shift to the right makes.
    """
    height, width, channels = size
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    window = Window(kernel, stride, (reach[0] // 2, reach[1] // 2), dilation)
    scales = requantize(channels, kernel[0] * kernel[1], True)
    weights = int8(*kernel, channels)
    if general:
        scales = replace(scales, shifts=(1, *scales.shifts[1:]))
        weights[..., 0] = 1
    op = DepthwiseConv2d(
        weights,
        bias(channels),
        window,
        -3,
        scales,
        (1, *window.output_size((height, width)), channels),
    )
    return single(op, int8(1, *size))


def grouped(
    size: tuple[int, int, int], outputs: int, kernel: tuple[int, int], groups: int
) -> Example:
    height, width, channels = size
    window = Window(kernel, (1, 1), (kernel[0] // 2, kernel[1] // 2))
    if kernel[0] == height:
        window = Window(kernel)
    depth = channels // groups
    if depth == 1:
        scales, size_of = requantize(outputs, kernel[0] * kernel[1], True), window.output_size
        taps, shape = int8(*kernel, outputs), (1, *size_of((height, width)), outputs)
        return single(
            DepthwiseConv2d(taps, bias(outputs), window, -3, scales, shape), int8(1, *size)
        )
    op = GroupedConv2d(
        int8(outputs, *kernel, depth),
        bias(outputs),
        window,
        -3,
        requantize(outputs, kernel[0] * kernel[1] * depth, True),
        (1, *window.output_size((height, width)), outputs),
        groups,
    )
    return single(op, int8(1, *size))


def add(shape: Sequence[int], other: Sequence[int], *, affine: bool = True) -> Example:
    scales = ((28, -1757032276, -1), (0, 1 << 30, 0), (-19, 1687308229, -19))
    if affine:
        scales = ((3, 1 << 30, 0), (-5, 1518500250, -1), (4, 1 << 30, -19))
    lhs, rhs, out = scales
    result = Out(np.int8, tuple(shape))
    return calling(
        "cortex_m::quantized_add.out",
        *(In(int8(*shape)), *lhs, In(int8(*other)), *rhs, *out, -128, 127, result),
    )


def mul(shape: Sequence[int], other: Sequence[int]) -> Example:
    result = Out(np.int8, tuple(shape))
    arguments = (In(int8(*shape)), 3, In(int8(*other)), -5, 4, 1 << 30, -6, result)
    return calling("cortex_m::quantized_mul.out", *arguments)


def maximum(count: int) -> Example:
    return calling("cortex_m::maximum.out", *_pair(count), Out(np.int8, (count,)))


def mean_pool(size: tuple[int, int, int], kernel: tuple[int, int]) -> Example:
    window = Window(kernel)
    shape = (1, *window.output_size(size[:2]), size[2])
    return single(AvgPool2d(window, shape), int8(1, *size))


def compare(name: str, count: int) -> Example:
    return calling(f"aten::{name}.Tensor_out", *_pair(count), Out(np.bool_, (count,)))


def logic(name: str, count: int) -> Example:
    truths = [In(NUMBERS.integers(0, 2, count).astype(np.bool_)) for _ in range(2)]
    return calling(f"aten::{name}.out", *truths, Out(np.bool_, (count,)))


def where(count: int) -> Example:
    truth = In(NUMBERS.integers(0, 2, count).astype(np.bool_))
    return calling("aten::where.self_out", truth, *_pair(count), Out(np.int8, (count,)))


def _pair(count: int) -> list[In]:
    return [In(int8(count)) for _ in range(2)]


def products(batch: int, rows: int, depth: int, columns: int) -> Example:
    return calling(
        "cortex_m::quantized_batch_matmul.out",
        *(In(int8(batch, rows, depth)), 3, In(int8(batch, columns, depth)), -5),
        *(4, 1 << 30, -7, In(np.zeros(4, np.int8), constant=True)),
        Out(np.int8, (batch, rows, columns)),
    )


def layers() -> Iterator[Layer]:
    image = (20, 101, 8)
    yield Layer("depthwise 3x3 20x101x8", depthwise(image, (3, 3)))
    yield Layer("depthwise 3x1 20x101x8", depthwise(image, (3, 1)))
    yield Layer("depthwise 1x3 20x101x8", depthwise(image, (1, 3)))
    yield Layer("depthwise 1x3 d2 20x101x8", depthwise(image, (1, 3), (1, 2)))
    yield Layer("depthwise 5x1 20x101x8", depthwise(image, (5, 1)))
    yield Layer("depthwise 3x3 d2 20x101x8", depthwise(image, (3, 3), (2, 2)))
    yield Layer("depthwise 3x3 d4x1 16x33x16", depthwise((16, 33, 16), (3, 3), (4, 1)))
    for channels in (12, 16, 20):
        yield Layer(f"depthwise 3x1 20x101x{channels}", depthwise((20, 101, channels), (3, 1)))
    yield Layer("depthwise 3x1 s2 20x101x8", depthwise(image, (3, 1), stride=(2, 1)))
    yield Layer("depthwise 1x9 1x128x16", depthwise((1, 128, 16), (1, 9)))
    yield Layer("depthwise 7x7 14x14x24", depthwise((14, 14, 24), (7, 7)))
    yield Layer("depthwise 3x3 14x14x64", depthwise((14, 14, 64), (3, 3)))
    yield Layer("depthwise 3x3 14x14x64 general", depthwise((14, 14, 64), (3, 3), general=True))
    yield Layer("depthwise 5x5 14x14x64", depthwise((14, 14, 64), (5, 5)))
    yield Layer("depthwise 5x5 14x14x64 general", depthwise((14, 14, 64), (5, 5), general=True))
    yield Layer("depthwise 3x1 20x101x8 general", depthwise(image, (3, 1), general=True))
    yield Layer("depthwise 3x3 d2 20x101x8 general", depthwise(image, (3, 3), (2, 2), general=True))
    yield Layer("depthwise 8x1, 2 filters each, 8x256x8", grouped((8, 256, 8), 16, (8, 1), 8))
    yield Layer("depthwise 3x3, 4 filters each, 16x16x3", grouped((16, 16, 3), 12, (3, 3), 3))
    yield Layer("grouped 3x3 8x8x64, 8 groups", grouped((8, 8, 64), 64, (3, 3), 8))
    yield Layer("grouped 3x3 16x16x32, 8 groups", grouped((16, 16, 32), 32, (3, 3), 8))
    yield Layer("add 4096", add((4096,), (4096,)))
    yield Layer("add 4096, no affine form", add((4096,), (4096,), affine=False))
    for inner in (4, 16):
        shape = (4096 // inner, inner)
        yield Layer(f"add {shape} + column", add(shape, (shape[0], 1)))
        yield Layer(f"add {shape} + row", add(shape, (inner,)))
        yield Layer(f"mul {shape} * column", mul(shape, (shape[0], 1)))
        yield Layer(f"mul {shape} * row", mul(shape, (inner,)))
    yield Layer("maximum 4096", maximum(4096))
    yield Layer("mean of 5x1 12x320x1", mean_pool((12, 320, 1), (5, 1)))
    for name in ("eq", "lt", "ge"):
        yield Layer(f"{name} int8 4096", compare(name, 4096))
    yield Layer("logical_and 4096", logic("logical_and", 4096))
    yield Layer(
        "bitwise_or of bools 4096",
        calling(
            "aten::bitwise_or.Tensor_out",
            *(In(NUMBERS.integers(0, 2, 4096).astype(np.bool_)) for _ in range(2)),
            Out(np.bool_, (4096,)),
        ),
    )
    yield Layer("where int8 4096", where(4096))
    yield Layer("64 products 1x8 by 8x8", products(64, 1, 8, 8))
    yield Layer("64 products 1x8 by 8x16", products(64, 1, 8, 16))
    yield Layer("16 products 8x8 by 8x8", products(16, 8, 8, 8))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pattern", nargs="?", default="*", help="of the layers' names")
    parser.add_argument("--board", action="append", choices=sorted(ISAS))
    options = parser.parse_args()
    chosen = [layer for layer in layers() if fnmatch.fnmatch(layer.name, options.pattern)]
    counts = {}
    for board in options.board or ISAS:
        with tempfile.TemporaryDirectory() as folder:
            counts[board] = instructions(board, ISAS[board], chosen, Path(folder))
    print(f"| layer | work | {' | '.join(counts)} | each |")
    print(f"| --- |{' ---: |' * (2 + len(counts))}")
    for i, layer in enumerate(chosen):
        work = layer.op.macs or layer.example.graph.outputs[0].tensor.numel
        figures = [counts[board][i] for board in counts]
        each = ", ".join(f"{figure / work:.2f}" for figure in figures)
        print(f"| {layer.name} | {work:,} | {' | '.join(f'{n:,}' for n in figures)} | {each} |")


if __name__ == "__main__":
    main()
