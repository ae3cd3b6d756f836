"""Hot blocks: their instructions add up to what the estimate says."""

from __future__ import annotations

import pytest

from cmbuild.cycles.cores.cortex_m0plus import CortexM0Plus
from cmbuild.cycles.cores.cortex_m7 import CortexM7
from cmbuild.cycles.disassembly import parse
from cmbuild.cycles.estimate import Estimator
from cmbuild.cycles.explanation import hot_blocks
from cmbuild.cycles.profile import Profile, TranslationBlock

LISTING = """
10000400:\t2000      \tmovs\tr0, #0
10000402:\t680a      \tldr\tr2, [r1, #0]
10000404:\t1880      \tadds\tr0, r0, r2
10000406:\t3b01      \tsubs\tr3, #1
10000408:\td1fb      \tbne.n\t10000402 <loop>
1000040a:\t4770      \tbx\tlr
"""
BLOCKS = {
    1: TranslationBlock(0x10000400, 5),
    2: TranslationBlock(0x10000402, 4),
    3: TranslationBlock(0x1000040A, 1),
}
RUN = {(1, 2): 1, (2, 2): 98, (2, 3): 1}


@pytest.mark.parametrize("core", [CortexM0Plus, CortexM7])
def test_a_loop_adds_up(core):
    estimator = Estimator(core, parse(LISTING), Profile(BLOCKS, [RUN]))
    hot, *_ = hot_blocks(estimator, [RUN], 3)
    assert (hot.address, hot.after, hot.executions) == (0x10000402, 0x10000402, 99)
    each = [one.issue + one.stall for one in hot.instructions]
    if not core.misprediction:
        assert sum(each) == pytest.approx(hot.cycles / hot.executions, rel=0.02)
    assert [one.text.split()[0] for one in hot.instructions] == ["ldr", "adds", "subs", "bne.n"]


def test_parts_of_a_loop_are_one_window():
    """The simulator's block that enters the loop shares its instructions."""
    estimator = Estimator(CortexM0Plus, parse(LISTING), Profile(BLOCKS, [RUN]))
    windows = hot_blocks(estimator, [RUN | {(3, 1): 1}], 3)
    assert [window.address for window in windows] == [0x10000402, 0x1000040A]
    addresses = [each.address for window in windows for each in window.instructions]
    assert len(addresses) == len(set(addresses))


def test_a_stall_names_what_it_waits_for():
    estimator = Estimator(CortexM7, parse(LISTING), Profile(BLOCKS, [RUN]))
    hot, *_ = hot_blocks(estimator, [RUN], 1)
    load, add, *_ = hot.instructions
    assert load.stall == 0
    assert add.stall > 0 and add.reason == "waits for r2 of ldr r2, [r1, #0]"


def test_what_takes_longer_says_so():
    estimator = Estimator(CortexM0Plus, parse(LISTING), Profile(BLOCKS, [RUN]))
    hot, *_ = hot_blocks(estimator, [RUN], 1)
    reasons = {one.text.split()[0]: one.reason for one in hot.instructions}
    assert reasons["ldr"] == "takes 2 cycles"
    assert reasons["bne.n"] == "refills the pipeline"
    assert reasons["adds"] == ""
