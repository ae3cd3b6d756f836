"""Predicts the cycles of a plan from a table of what kernels cost on each core."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, ConfigDict

from cmbuild.boards.board import Board
from cmbuild.cycles.clock import ClockTable
from cmbuild.sizing.results import PredictedCycles
from cmcompiler.isa import Isa

if TYPE_CHECKING:
    from cmcompiler.plan.plan import Plan, PlanStep

COSTS = Path(__file__).with_name("costs.json")

_WINDOW = re.compile(r"(\d+)×(\d+)")

_AT_ONCE = {Isa.SCALAR: 1, Isa.DSP: 4, Isa.MVE: 16}
"""Operands in int8 that inner loops take at once; the last ones take as long as if all were there.
"""

_VARIANT = re.compile(
    "(_stride_2|(?<=_3x3)_row)?(_general|_half_up)?$|(?<=avg_pool2d)_rows(?=_s8$)|^implicit_"
)
"""Of kernels that differ in their stride, in the rescaling of their outputs, in taking the rows of
one window, or in where they pack windows from, which is little of their work."""

_PRODUCT = re.compile("^(linear(?!_vector)|pixel_conv2d)")
"""Of kernels that multiply rows as convolutions do their patches."""

_CONVOLUTION = re.compile("^(pixel_|strip_|implicit_)?conv2d")

_ALIGNMENT = 16
_ROWS = 4
"""ALIGN and ROWS of runtime/kernels/conv2d.c."""


class Size(NamedTuple):
    """Of a window, in pixels."""

    height: int
    width: int

    @property
    def area(self) -> int:
        return self.height * self.width


class Work(NamedTuple):
    """What a kernel does in a plan, or the cycles that one of each takes.

    Attributes:
        products: multiply-accumulates, or elements that pools read; with those that fill vectors.
        outputs: elements.
        calls: of the kernel.
        pixels: of outputs that are computed from windows.
        patch_rows: that a convolution gathers, each a kernel's width long.
        clipped: how many of these, or of a pool's, may cross a side of the image.
        portions: in which a convolution gathers its patches and multiplies them.
        operands: of the windows of all pixels, which loops widen or pair before they multiply.
        columns: of all products, each with loops, weights and a rescaling that begin anew.
    """

    products: float = 0.0
    outputs: float = 0.0
    calls: float = 0.0
    pixels: float = 0.0
    patch_rows: float = 0.0
    clipped: float = 0.0
    portions: float = 0.0
    operands: float = 0.0
    columns: float = 0.0

    def plus(self, other: Work) -> Work:
        return Work(*map(sum, zip(self, other, strict=True)))


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RecordedRun(_Record):
    """Cycles of a model on the simulator, and its work by kernel."""

    cycles: int
    work: Mapping[str, Work]


class CoreCosts(_Record):
    """What work costs on a core, in cycles.

    Attributes:
        isa: that kernels use.
        error_percent: the largest difference from the recorded runs.
        kernels: cycles of a unit of each kind of work.
        recorded: runs that the costs are fitted to, by model.
    """

    isa: str
    error_percent: int
    kernels: Mapping[str, Work]
    recorded: Mapping[str, RecordedRun]

    def cycles(self, work: Mapping[str, Work]) -> float | None:
        """None if a kernel's cost is not known."""
        if not work.keys() <= self.kernels.keys():
            return None
        return sum(
            unit * amount
            for kernel, amounts in work.items()
            for unit, amount in zip(self.kernels[kernel], amounts, strict=True)
        )


class CostTable(_Record):
    """costs.json, which benchmarks/costs.py writes.

    Attributes:
        provenance: of the recorded runs.
    """

    provenance: str
    cores: Mapping[str, CoreCosts]


@cache
def known_costs() -> CostTable:
    return CostTable.model_validate_json(COSTS.read_bytes())


def predict(board: Board, isa: str, work: Mapping[str, Work]) -> PredictedCycles | None:
    """None where the cost of a kernel on the board's core and instruction set is not known."""
    costs = known_costs().cores.get(board.cpu)
    if costs is None or costs.isa != isa or not work:
        return None
    cycles = costs.cycles(work)
    if cycles is None:
        return None
    clock = board.table(ClockTable)
    milliseconds = None if clock is None else cycles / clock.hertz * 1e3
    return PredictedCycles(round(cycles), milliseconds, costs.error_percent)


def work_by_kernel(plan: Plan) -> dict[str, Work]:
    """The work of each kernel in a plan, all branches included."""
    totals: defaultdict[str, Work] = defaultdict(Work)
    for kernel, work in work_of_steps(plan):
        totals[kernel] = totals[kernel].plus(work)
    return dict(totals)


def work_of_steps(plan: Plan) -> list[tuple[str, Work]]:
    """The kernel and the work of each step; the stages of a stream are called in turns."""
    calls: Counter[int] = Counter()
    for index, step in enumerate(plan.steps):
        if step.stages:
            calls[index] += len(step.turns) + 1
            calls.update(index + 1 + stage for stage in step.turns)
    at_once = _AT_ONCE[plan.isa]
    return [(_kind(s.kernel), _work(s, calls.get(i, 1), at_once)) for i, s in enumerate(plan.steps)]


def _kind(kernel: str) -> str:
    """Of kernels whose costs are the same."""
    return _PRODUCT.sub("conv2d", _VARIANT.sub("", kernel, count=1))


def _work(step: PlanStep, calls: int, at_once: int) -> Work:
    if not step.elements:  # the last step of a node counts for all
        return Work(calls=calls)
    whole = Work(step.macs, step.elements, calls)
    numbers = {each.name: each.value for each in step.arguments if isinstance(each.value, int)}
    channels = numbers.get("output.channels", 0)
    if members := numbers.get("total.rows", 0) * numbers.get("total.columns", 0):
        return whole._replace(products=_filled(step.elements, at_once) * members, pixels=1)
    if (match := _WINDOW.search(step.title)) and channels:
        return _work_of_windows(step, whole, numbers, Size(*map(int, match.groups())), at_once)
    if not step.macs:
        return whole
    filled = _filled(step.macs // step.elements, at_once)
    whole = whole._replace(products=step.elements * filled)
    if not _PRODUCT.match(step.kernel):
        return whole
    rows = numbers["rows"]
    return whole._replace(operands=rows * filled, columns=calls * step.elements / rows)


def _work_of_windows(
    step: PlanStep, whole: Work, numbers: Mapping[str, int], window: Size, at_once: int
) -> Work:
    channels, depth = numbers["output.channels"], step.macs // step.elements
    pixels = step.elements // channels
    columns = min(window.width - 1, numbers["output.width"]) if numbers.get("pad_left") else 0
    clipped = numbers["output.batch"] * numbers["output.height"] * columns * window.height
    if not _CONVOLUTION.match(step.kernel):  # vectors lie along the channels
        products = pixels * _filled(channels, at_once) * window.area
        return whole._replace(products=products, pixels=pixels, clipped=clipped)
    filled = _filled(depth, at_once)
    whole = whole._replace(products=step.elements * filled, operands=pixels * filled)
    if "patch_count" in numbers:
        count, stride = numbers["patch_count"], numbers["patch_stride"]
        portions = max(whole.calls, _portions(pixels, channels, count, stride))
    elif "chunk" in numbers:
        width = numbers["output.width"]
        portions = pixels // width * -(-width // numbers["chunk"])
    else:
        return whole._replace(columns=whole.calls * channels)
    return whole._replace(
        pixels=pixels,
        patch_rows=pixels * window.height,
        clipped=clipped,
        portions=portions * numbers.get("groups", 1),
        columns=portions * channels,
    )


def _portions(pixels: int, channels: int, count: int, stride: int) -> int:
    """As runtime/kernels/conv2d.c divides its pixels: into as many as there is memory for patches,
    in their own buffer or where outputs are yet to come.
    """
    found = 0
    while pixels > 0:
        spare = (pixels * channels - (_ALIGNMENT - 1)) // (stride + channels)
        pixels -= max(count, spare - spare % _ROWS)
        found += 1
    return found


def _filled(count: int, at_once: int) -> int:
    """With what is missing in the last vector."""
    return -(-count // at_once) * at_once
