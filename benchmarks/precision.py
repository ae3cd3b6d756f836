#!/usr/bin/env python3
"""Cycles of layers with int16 activations and with weights of four bits over those of int8.

    python benchmarks/precision.py [--board NAME]... [PATTERN]

Every layer is counted in the same run of the same image as its int8 counterpart, by the models of
cmbuild.cycles at zero wait states, after its bits were checked against the reference.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from harness.examples import Example, single
from harness.images import kernel_harness
from harness.runtime import Machine, Runtime
from kernels import NUMBERS, WHOLE, conv, depthwise, linear

from cmbuild.catalog import find_board
from cmbuild.conformance.harness import KernelHarness
from cmbuild.cycles.disassembly import disassemble
from cmbuild.cycles.estimate import Estimator
from cmbuild.cycles.plugin import block_profile
from cmbuild.cycles.profile import read_profile
from cmbuild.cycles.registry import timing_model
from cmbuild.image.elf import Symbols
from cmbuild.launchers.base import BlockCounts, Profiled
from cmbuild.toolchain import tools
from cmcompiler.emit.harness_batch import Case
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.linear import Linear
from cmcompiler.ops.support.requantize16 import INT16, Requantize16
from cmcompiler.plan.planner import make_plan

BOARDS = ("corstone300", "mps2-an386", "mps2-an505", "mps2-an500", "microbit", "mps2-an385")


@dataclass(frozen=True)
class Compared:
    """A layer in int8, and the same one with int16 activations or with weights of four bits."""

    name: str
    int8: Example
    other: Example


def short(example: Example) -> Example:
    """The layer with int16 activations, whose sums fit 32 bits."""
    op = example.graph.nodes[0].op
    assert isinstance(op, Conv2d | DepthwiseConv2d | Linear)
    is_rectified = op.requantize.zero_point == -128
    limits = replace(INT16, minimum=0) if is_rectified else INT16
    shifts = [shift - 2 for shift in op.requantize.shifts]
    requantize = Requantize16.of(op.requantize.multipliers, shifts, limits, is_long=True)
    changes = {"bias": op.bias.astype(np.int64), "requantize": requantize}
    if not isinstance(op, Linear):
        changes["input_zero_point"] = 0
    image = NUMBERS.integers(-3000, 3000, example.inputs[0].shape).astype(np.int16)
    return single(replace(op, **changes), image)


def narrow(example: Example) -> Example:
    """The layer with weights of four bits, from -7 to 7."""
    op = example.graph.nodes[0].op
    assert isinstance(op, Conv2d | DepthwiseConv2d | Linear)
    weights = (op.weights.astype(int) // 16).clip(-7, 7).astype(np.int8)
    shifts = tuple(shift + 4 for shift in op.requantize.shifts)
    requantize = replace(op.requantize, shifts=shifts)
    return single(replace(op, weights=weights, requantize=requantize), *example.inputs)


def in_groups(example: Example) -> Example:
    """The layer with weights of four bits, and a factor for each 32 columns."""
    op = example.graph.nodes[0].op
    assert isinstance(op, Conv2d | Linear)
    rows = (op.weights.astype(int) // 16).clip(-7, 7).reshape(len(op.weights), -1)
    rows[:, ::32] = 7
    factors = NUMBERS.integers(9, 19, (len(rows), -(-rows.shape[1] // 32)))
    weights = rows * factors.repeat(32, axis=1)[:, : rows.shape[1]]
    return single(
        replace(op, weights=weights.reshape(op.weights.shape).astype(np.int8)), *example.inputs
    )


def compared() -> list[Compared]:
    products = {
        "1x1 14x14x16->32": conv("14x14x16", 32),
        "1x1 14x14x64->64": conv("14x14x64", 64),
        "1x1 14x14x128->64": conv("14x14x128", 64),
        "1x1 7x7x320->128": conv("7x7x320", 128),
        "3x3 16x16x32->32": conv("16x16x32", 32, 3),
        "linear 64->64": linear(64, 64),
        "linear 512->128": linear(512, 128),
    }
    filters = {
        "depthwise 14x14x64": depthwise("14x14x64"),
        "depthwise s2 14x14x64": depthwise("14x14x64", 3, 2),
        "depthwise 28x28x32": depthwise("28x28x32"),
        "depthwise 7x7x64": depthwise("7x7x64"),
        "depthwise 25x5x64": depthwise("25x5x64"),
    }
    return [
        *(Compared(f"int16 {name}", each, short(each)) for name, each in products.items()),
        *(Compared(f"int16 {name}", each, short(each)) for name, each in filters.items()),
        *(Compared(f"int4 {name}", each, narrow(each)) for name, each in products.items()),
        *(Compared(f"int4 {name}", each, narrow(each)) for name, each in filters.items()),
        *(
            Compared(f"4w16a {name}", short(each), short(narrow(each)))
            for name, each in products.items()
        ),
        *(
            Compared(f"int4/32 {name}", each, in_groups(each))
            for name, each in products.items()
            if name != "1x1 14x14x16->32"
        ),
    ]


def cycles(board_name: str, examples: Sequence[Example], folder: Path) -> list[float]:
    """Cycles of each layer's kernels."""
    board = find_board(board_name)
    isa, core = board.isas[0], timing_model(board.cpu)
    harness = kernel_harness(board_name, isa.label, folder)
    launcher = harness.launcher
    assert isinstance(launcher, Profiled) and core is not None
    places = {name: at & ~1 for at, _, name in Symbols.read(harness.image).functions}
    mark, last = places["cm_board_ticks"], places["cm_main"]
    processes, profile = harness.processes, folder / "blocks.txt"
    counts = BlockCounts(profile, mark, last, block_profile(launcher.find(), processes))
    counting = KernelHarness(processes, launcher.counting(counts), harness.image)
    Runtime(Machine(board_name, harness, isa, folder)).check(*examples)
    plans = [make_plan(example.graph, isa, WHOLE) for example in examples]
    cases = [Case.of(plan, each.inputs) for plan, each in zip(plans, examples, strict=True)]
    Machine(board_name, counting, isa, folder).execute(cases)
    measured = read_profile(profile)
    objdump = tools.find("arm-none-eabi-objdump")
    code = disassemble(objdump, harness.image, core.architecture, processes, folder / "code.txt")
    estimator = Estimator(core, code, measured)
    taken = iter([estimator.cycles(segment) for segment in measured.segments[1::2]])
    assert not estimator.unknown, estimator.unknown
    return [sum(next(taken) for _ in plan.steps) for plan in plans]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pattern", nargs="?", default="*", help="of the layers' names")
    parser.add_argument("--board", action="append", help="one with QEMU; by default, six cores")
    options = parser.parse_args()
    boards = options.board or BOARDS
    chosen = [each for each in compared() if fnmatch.fnmatch(each.name, options.pattern)]
    if not chosen:
        parser.error(f"no layer matches {options.pattern!r}")
    columns = []
    for board in boards:
        with tempfile.TemporaryDirectory() as folder:
            examples = [example for each in chosen for example in (each.int8, each.other)]
            taken = cycles(board, examples, Path(folder))
        columns.append(list(zip(taken[::2], taken[1::2], strict=True)))
        print(f"{board} done", file=sys.stderr, flush=True)
    print(f"| layer | {' | '.join(boards)} |")
    print(f"| --- |{' ---: |' * len(boards)}")
    for each, row in zip(chosen, zip(*columns, strict=True), strict=True):
        cells = [f"{other / int8:.3f} of {int8:,.0f}" for int8, other in row]
        print(f"| {each.name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
