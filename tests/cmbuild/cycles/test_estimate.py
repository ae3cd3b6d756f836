"""Cycles of segments from counts of blocks."""

from __future__ import annotations

import pytest

from cmbuild.cycles.cores.cortex_m0plus import CortexM0Plus
from cmbuild.cycles.cores.cortex_m7 import CortexM7
from cmbuild.cycles.disassembly import parse
from cmbuild.cycles.estimate import Estimator
from cmbuild.cycles.profile import Profile, TranslationBlock

# A loop of four instructions that is entered once, and what follows it.
LISTING = """
10000400:\t2000      \tmovs\tr0, #0
10000402:\t680a      \tldr\tr2, [r1, #0]
10000404:\t1880      \tadds\tr0, r0, r2
10000406:\t3b01      \tsubs\tr3, #1
10000408:\td1fb      \tbne.n\t10000402 <loop>
1000040a:\t4770      \tbx\tlr
1000040c:\tffff ffff \t\t\t; <UNDEFINED> instruction: 0xffffffff
"""
BLOCKS = {
    1: TranslationBlock(0x10000400, 5),
    2: TranslationBlock(0x10000402, 4),
    3: TranslationBlock(0x1000040A, 1),
}


def estimator(*segments: dict[tuple[int, int], int], core=CortexM0Plus) -> Estimator:
    return Estimator(core, parse(LISTING), Profile(BLOCKS, segments))


def test_a_loop_costs_its_iterations_and_its_branches() -> None:
    # An iteration: load 2, add 1, subtract 1, branch 2.
    loop = {(1, 2): 1, (2, 2): 9}
    assert estimator(loop).cycles(loop) == pytest.approx(10 * 6)


def test_the_last_branch_is_not_taken() -> None:
    estimate = estimator()
    taken, left = {(2, 2): 1}, {(2, 3): 1}
    # The block is one `bx`, whose own cycles belong to what it leads to.
    assert estimate.cycles(left) == 1
    assert estimate.cycles(taken) == 6


def test_steps_are_less_what_reading_the_clock_takes() -> None:
    reading = {(3, 1): 1}
    pairs = [{(0, 1): 1}, reading] * 8
    work = {(3, 1): 1, (1, 2): 1, (2, 2): 4}
    estimate = estimator(*pairs, {(1, 2): 1}, work, {(1, 2): 1}, reading)
    first, between, second = estimate.intervals()
    assert first == pytest.approx(5 * 6)
    assert (between, second) == (0, 0)


def test_mispredicted_branches_count_on_a_core_that_predicts() -> None:
    never = {(2, 2): 100}
    often = {(2, 2): 50, (2, 3): 50}
    cost = estimator(never, core=CortexM7).cycles({(2, 2): 1})
    mixed = estimator(often, core=CortexM7).cycles({(2, 2): 1})
    assert mixed - cost == pytest.approx(CortexM7.misprediction * 0.5)


def test_instructions_that_no_table_knows_are_named() -> None:
    blocks = {1: TranslationBlock(0x1000040A, 2)}
    estimate = Estimator(CortexM0Plus, parse(LISTING), Profile(blocks, []))
    estimate.cycles({(1, 1): 1})
    assert len(estimate.unknown) == 1
