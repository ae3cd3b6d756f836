"""Cycles that a core waits for its flash, predicted, against those of recorded runs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from harness.reads import RUNS, differences, reads_of, steps_of

from cmbuild.catalog import find_board
from cmbuild.pipeline.copies import CODE, OFF, Copying
from cmbuild.sizing.results import PredictedCycles
from cmbuild.sizing.waiting import HotParts, StepWork, hot_parts, with_flash
from cmcompiler.ir.work import Work

G0B1 = find_board("nucleo-g0b1re")
L4R5 = find_board("nucleo-l4r5zi")


@pytest.mark.parametrize("name", RUNS)
def test_waiting_is_predicted_within_the_error_that_is_told(name: str) -> None:
    errors = {network: 100 * abs(each) for network, each in differences(name).items()}
    told = reads_of(name).error_percent
    assert len(errors) >= 15
    assert told - 1 < max(errors.values()) <= told <= 6
    large = ("resnet8", "ds_cnn", "mobilenet_v1_025", "vww_trained", "deep_autoencoder")
    assert max(errors[network] for network in large) <= 5


def predicted(name: str, hot: HotParts) -> int:
    steps = steps_of(RUNS["nucleo-l4r5zi"][name])
    cycles = with_flash(L4R5, PredictedCycles(1, None, 9), steps, hot).with_flash
    assert cycles is not None and cycles.clock_hz == 120_000_000 and cycles.wait_states == 5
    assert cycles.milliseconds == pytest.approx(cycles.total / 120e3, rel=1e-4)
    return cycles.total


def test_what_is_in_ram_is_not_waited_for() -> None:
    """The autoencoder's constants take most of its waiting."""
    count = len(RUNS["nucleo-l4r5zi"]["deep_autoencoder"]["steps"])
    places = (HotParts(), HotParts(True), HotParts(True, count // 2), HotParts(True, count))
    cold, code, some, both = (predicted("deep_autoencoder", hot) for hot in places)
    assert cold > code > some > both
    assert code - both > 4 * (cold - code)


def test_nothing_is_predicted_where_reads_are_not_known() -> None:
    cycles = PredictedCycles(1, None, 9)
    steps = [StepWork("conv2d", "conv2d", Work(filled=100.0), 10)]
    assert with_flash(find_board("mps2-an386"), cycles, steps, HotParts()) is cycles
    assert with_flash(replace(L4R5, fpu="none"), cycles, steps, HotParts()) is cycles
    unknown = [StepWork("unknown", "conv2d", Work(filled=100.0), 10)]
    assert with_flash(L4R5, cycles, unknown, HotParts()) is cycles
    assert with_flash(L4R5, cycles, steps, HotParts()).with_flash is not None


@pytest.mark.parametrize(
    ("copying", "constants", "expected"),
    [
        (Copying(), [30 << 10] * 2, HotParts(True, 2)),
        (Copying(), [50 << 10] * 2, HotParts(False, 2)),  # no room for kernels
        (Copying(), [50 << 10] * 3, HotParts(True, 1)),  # some of the constants, after kernels
        (Copying(hot=CODE), [30 << 10] * 2, HotParts(True)),
        (Copying(hot=OFF), [30 << 10] * 2, HotParts()),
    ],
)
def test_the_parts_in_ram_are_those_of_a_run(
    copying: Copying, constants: list[int], expected: HotParts
) -> None:
    steps = [StepWork("conv2d", "conv2d", Work(), size) for size in constants]
    assert hot_parts(G0B1, copying, steps, sum(constants), 0) == expected
