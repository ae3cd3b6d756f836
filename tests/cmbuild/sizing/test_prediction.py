"""Cycles predicted from a plan, against those of recorded runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from harness.examples import single
from harness.predictions import RUNS, differences, work_of
from harness.tflite_calls import tflite_call

from cmbuild.catalog import find_board
from cmbuild.sizing.prediction import known_costs, predict, work_by_kernel, work_of_steps
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph
from cmcompiler.ir.op import OUTSIDE
from cmcompiler.ir.work import Work
from cmcompiler.isa import Isa
from cmcompiler.ops.conv2d import Conv2d
from cmcompiler.ops.depthwise_conv2d import DepthwiseConv2d
from cmcompiler.ops.support.requantize import Requantize
from cmcompiler.ops.support.window import Window
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan
from cmcompiler.tflite.reader import read_tflite

CORES = known_costs().cores
WHOLE = PlanOptions(streams=False)
CLOSE = 15
"""Percent."""


@pytest.mark.parametrize("cpu", CORES)
def test_recorded_runs_are_predicted_within_the_error_that_is_told(cpu: str) -> None:
    costs = CORES[cpu]
    errors = [100 * abs(each) for each in differences(cpu).values()]
    assert len(errors) >= 7
    assert max(errors) <= CLOSE
    assert costs.error_percent - 1 < max(errors) <= costs.error_percent


@pytest.mark.parametrize("cpu", CORES)
def test_no_product_is_nearly_free(cpu: str) -> None:
    """Costs fitted to layers that are alike may lie in their outputs alone, so that deeper layers
    cost too little.
    """
    kernels = CORES[cpu].kernels
    least = 0.4 * kernels["conv2d"].filled
    products = [name for name in kernels if "conv2d" in name or name.startswith("linear")]
    products = [name for name in products if "depthwise" not in name]
    assert len(products) >= 10
    assert [name for name in products if kernels[name].filled < least] == []


@pytest.mark.parametrize("cpu", CORES)
def test_rows_from_outside_cost_what_their_stream_does(cpu: str) -> None:
    costs = CORES[cpu]
    assert costs.cycles({each: Work(calls=9) for each in OUTSIDE}) == 0


def convolution(width: int, channels: int, side: int = 3, minimum: int = -128) -> Graph:
    """Of 5 rows of pixels from square windows, padded as much as keeps the size, to 3 channels."""
    op = Conv2d(
        np.ones((3, side, side, channels), np.int8),
        np.zeros(3, np.int32),
        Window((side, side), padding=(side // 2, side // 2)),
        0,
        Requantize.checked([1 << 30] * 3, [-8] * 3, 3, zero_point=0, minimum=minimum, maximum=127),
        (1, 5, width, 3),
    )
    return single(op, np.zeros((1, 5, width, channels), np.int8)).graph


@pytest.mark.parametrize("isa", Isa)
def test_an_lstm_with_clipped_cells_has_a_price_on_every_core(isa: Isa) -> None:
    call = tflite_call("unidirectional_sequence_lstm_clipped")
    work = work_by_kernel(make_plan(build_graph(read_tflite(call.data)), isa))
    lanes = {Isa.SCALAR: 10, Isa.DSP: 12, Isa.MVE: 32}[isa]
    rows, units = 2 * 5, 4
    assert work == {
        "lstm": Work(
            macs=rows * 4 * units * 10,
            filled=rows * 4 * units * lanes,
            outputs=rows * units,
            calls=1,
            portions=rows,
            columns=rows * units * 2,
        )
    }
    cores = [costs for costs in CORES.values() if costs.isa == isa.label]
    assert cores
    assert all(costs.cycles(work) is not None for costs in cores)


def test_the_work_of_a_convolution() -> None:
    """Of 5×6 pixels over 2 channels."""
    graph = convolution(6, 2)
    work = {isa: work_by_kernel(make_plan(graph, isa, WHOLE))["conv2d"] for isa in Isa}
    depths = [work[isa].filled / work[isa].outputs for isa in Isa]
    assert depths == [18, 20, 32], "of products in whole vectors"
    portions = [work[isa].portions for isa in Isa]
    assert portions == [15, 8, 8], "of 2, 4 and 4 patches: the outputs have no room for more"
    for each in work.values():
        assert (each.macs, each.outputs, each.calls, each.pixels) == (90 * 18, 90, 1, 30)
        assert (each.segments, each.clipped) == (90, 5 * 2 * 3)


def test_a_convolution_without_patches_works_as_one_of_pixels() -> None:
    """With the DSP extension, of 5×8 pixels over 4 channels."""
    plan = make_plan(convolution(8, 4), Isa.DSP, WHOLE)
    assert [step.kernel for step in plan.steps] == ["implicit_conv2d"]
    macs = 40 * 36 * 3
    expected = Work(macs=macs, filled=macs, outputs=120, calls=1, operands=40 * 36, columns=3)
    assert work_by_kernel(plan) == {"conv2d": expected}


@pytest.mark.parametrize(("height", "calls"), [(25, 7), (4, 1), (3, 1)])
def test_a_depthwise_image_is_computed_in_as_many_portions_as_its_scratch_says(
    height: int, calls: int
) -> None:
    """With Helium, of bands of two rows of five columns, for twelve columns at once."""
    shape = (1, height, 5, 64)
    op = DepthwiseConv2d(
        np.ones((3, 3, 64), np.int8),
        np.zeros(64, np.int32),
        Window((3, 3), padding=(1, 1)),
        0,
        Requantize.checked([1 << 30] * 64, [-8] * 64, 64, zero_point=0, minimum=-128, maximum=127),
        shape,
    )
    plan = make_plan(single(op, np.zeros(shape, np.int8)).graph, Isa.MVE, WHOLE)
    (work,) = work_by_kernel(plan).values()
    assert (work.calls, work.portions, work.columns) == (1, calls, 64 * calls)


@pytest.mark.parametrize("cpu", ["cortex-m0plus", "cortex-m3"])
def test_half_of_the_outputs_after_a_relu_cost_less(cpu: str) -> None:
    """Without SIMD, sums that it makes zero are not scaled; without a ReLU there are none."""
    graphs = [convolution(6, 2, minimum=minimum) for minimum in (-128, -1, 0)]
    works = [work_by_kernel(make_plan(graph, Isa.SCALAR)) for graph in graphs]
    assert [work["conv2d"].rectified for work in works] == [0, 0, 45]
    costs = [CORES[cpu].cycles(work) or 0 for work in works]
    saved = -CORES[cpu].kernels["conv2d"].rectified
    assert costs[1] == costs[0] == pytest.approx(costs[2] + 45 * saved)
    assert 5 < saved < 40


def test_milliseconds_are_those_of_the_boards_clock() -> None:
    work = work_of(RUNS["cortex-m33"]["ds_cnn"])
    prediction = predict(find_board("rp2350"), "dsp", work)
    assert prediction is not None and prediction.milliseconds is not None
    assert prediction.milliseconds == pytest.approx(prediction.total / 150e3, rel=1e-4)


@pytest.mark.parametrize(
    ("board", "isa", "kernel"),
    [
        ("corstone320", "mve", "conv2d"),  # no costs of its core
        ("mps2-an386", "scalar", "conv2d"),  # of another instruction set
        ("mps2-an386", "dsp", "log_softmax_s8"),  # in no recorded model
    ],
)
def test_what_is_not_known_is_not_predicted(board: str, isa: str, kernel: str) -> None:
    assert predict(find_board(board), isa, {kernel: Work(filled=1.0, outputs=1.0)}) is None
    assert predict(find_board(board), isa, {}) is None


def test_rows_alone_of_a_step_that_computes_a_part_of_its_node() -> None:
    """Only the last step of a node has elements; those before it are calls."""
    (step,) = make_plan(convolution(2, 4, 1), Isa.DSP, PlanOptions(streams=False)).steps
    assert step.typed is not None and step.typed.suits_more
    rows = step.rows[1]
    stream = replace(step, kernel="stream", form=None, stages=1, turns=(0,) * rows, elements=0)
    plan = make_plan(convolution(2, 4, 1), Isa.DSP)
    alone, part = (
        work_of_steps(replace(plan, steps=(stream, replace(step, elements=count))))[1]
        for count in (step.elements, 0)
    )
    assert alone[0] == f"{part[0]}_tiled" and part[1] == Work(calls=rows)


def test_a_sum_of_all_rows_costs_what_one_by_rows_does() -> None:
    costs = CORES["cortex-m0plus"]
    work = Work(filled=1000, outputs=10)
    by_rows = costs.cycles({"quantized_sum_rows": work})
    assert by_rows is not None and by_rows > 1000
    assert costs.cycles({"quantized_sum": work}) == by_rows
    assert costs.cycles({"nothing": work}) is None
