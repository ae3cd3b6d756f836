"""Cycles with flash: which clock they are for, and what the counts of reads cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.catalog import find_board
from cmbuild.cycles.clock import ClockTable
from cmbuild.cycles.cores.cortex_m4 import CortexM4
from cmbuild.cycles.counter import _chip, flash_model
from cmbuild.cycles.disassembly import parse
from cmbuild.cycles.estimate import Estimator
from cmbuild.cycles.flash import FlashAccess, FlashModel
from cmbuild.cycles.profile import FlashCounts, Profile, TranslationBlock

CLOCKS = [20_000_000, 40_000_000, 60_000_000]
CHIPS = {
    "nucleo-l4r5zi": (120, 5),
    "nucleo-u575zi-q": (160, 4),
    "nucleo-g0b1re": (64, 2),
    "nucleo-h7a3zi-q": (280, 6),
    "stm32f746g-disco": (216, 7),
}
ONE_OF_EACH = FlashCounts(
    lines=10, prefetched=4, code_misses=3, reads=100, data_misses=20, conflicts=2, ram_misses=5
)


def table(**keys: object) -> FlashAccess:
    return FlashAccess(clocks=CLOCKS, line=16, **keys)


@pytest.mark.parametrize(
    ("hertz", "clock", "wait_states"),
    [
        (4_000_000, 60_000_000, 2),  # needs none: the chip's highest clock says more
        (30_000_000, 30_000_000, 1),
        (60_000_000, 60_000_000, 2),
        (61_000_000, 61_000_000, 3),
    ],
)
def test_wait_states_follow_the_clock(hertz: int, clock: int, wait_states: int) -> None:
    model = table().at(hertz)
    assert (model.hertz, model.wait_states) == (clock, wait_states)


def test_a_calibrated_miss_is_one_at_the_highest_clock() -> None:
    assert table(miss_cycles=9.0).at(30_000_000).hertz == CLOCKS[-1]


@pytest.mark.parametrize(
    ("keys", "waited"),
    [
        ({}, 2 * 23),
        ({"miss_cycles": 6.0}, 6 * 23),
        ({"data_cache": 64, "ram_cycles": 4.0}, 2 * 23 + 4 * 5),
        ({"line_cycles": 0.5, "read_cycles": 0.25}, 2 * 23 + 5 + 25),
        # A line runs in 2.5 cycles and is read in 3; half of the wait for what is still being read.
        ({"prefetch": True}, 2 * 23 + 0.5 * 4 + 2),
        ({"prefetch": True, "data_cache": 64}, 2 * 23 + 0.5 * 4),
        ({"prefetch": True, "code_cache": 64, "shared": True}, 2 * 23),
    ],
)
def test_counts_times_constants(keys: dict[str, object], waited: float) -> None:
    model = FlashModel(table(**keys), 60_000_000, 2)
    assert model.cycles(25.0, ONE_OF_EACH) == pytest.approx(25 + waited)


def test_without_wait_states_nothing_is_late() -> None:
    nothing = FlashCounts(0, 0, 0, 0, 0, 0)
    model = FlashModel(table(prefetch=True), 20_000_000, 0)
    assert model.cycles(25.0, nothing) == 25
    assert model.cycles(25.0, ONE_OF_EACH) == 25


def test_boards_describe_their_flash() -> None:
    waits = {}
    for name in CHIPS:
        model = flash_model(find_board(name))
        assert model is not None
        waits[name] = model.hertz // 1_000_000, model.wait_states
    assert waits == CHIPS
    assert _chip(find_board("nucleo-u575zi-q")) == "134217728:136314880:16:1:1:8192:2:0:0:0:0"
    chip = _chip(find_board("nucleo-h7a3zi-q"))
    assert chip == f"134217728:136314880:32:0:0:16384:2:16384:4:{0x24000000}:{0x24100000}"
    assert _chip(find_board("mps2-an386")) is None
    assert find_board("mps2-an386").table(ClockTable).flash is None  # type: ignore[union-attr]


def test_intervals_with_flash_leave_out_what_a_reading_takes(tmp_path: Path) -> None:
    listing = "1000:\tbf00 \tnop\n1002:\tbf00 \tnop\n"
    reading, segment = {(1, 1): 1}, {(1, 1): 10}
    reads = [FlashCounts(0, 0, 0, 1, 1, 0)] * 17 + [FlashCounts(0, 0, 0, 7, 7, 0)]
    profile = Profile({1: TranslationBlock(0x1000, 1)}, [reading] * 17 + [segment], reads)
    estimator = Estimator(CortexM4, parse(listing), profile)
    (zero,), (cycles,) = estimator.intervals(), estimator.with_flash(table().at(0))
    assert cycles - zero == 2 * 6
