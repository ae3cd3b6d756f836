"""Fetches from flash, counted as a chip without a cache makes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.catalog import read_board
from cmbuild.cycles.cores.cortex_m4 import CortexM4
from cmbuild.cycles.disassembly import parse
from cmbuild.cycles.estimate import Estimator
from cmbuild.cycles.fetches import Flash, flash_of
from cmbuild.cycles.profile import Profile, TranslationBlock
from cmbuild.paths import boards

# Four loads in eight bytes, from 0x1000 and from 0x2000 on; the first line of 16 bytes goes on.
LISTING = """
1000:\te891 003c \tldmia.w\tr1, {r2, r3, r4, r5}
1004:\t9800      \tldr\tr0, [sp, #0]
1006:\t680a      \tldr\tr2, [r1, #0]
1008:\tf000 b800 \tb.w\t100c <next>
100c:\t680a      \tldr\tr2, [r1, #0]
100e:\t680a      \tldr\tr2, [r1, #0]
1010:\tec91 1f00 \tvldrw.u32\tq0, [r1, #16]
1014:\tfc91 0f42 \tvldrb.u8\tq0, [r1, q1]
2000:\t680a      \tldr\tr2, [r1, #0]
"""
BLOCKS = {
    1: TranslationBlock(0x1000, 3),
    2: TranslationBlock(0x1006, 2),
    3: TranslationBlock(0x100C, 2),
    4: TranslationBlock(0x2000, 1),
    5: TranslationBlock(0x1010, 1),
    6: TranslationBlock(0x1014, 1),
}
FLASH = Flash(line=16, places=((0x1000, 0x2000),))


@pytest.mark.parametrize(
    ("edge", "fetches"),
    [
        ((0, 1), 1 + 2 + 1),  # a line of code, LDM across two, a load; the stack is in RAM
        ((1, 1), 1 + 2 + 1),  # again after a branch
        ((4, 2), 1 + 1),
        ((2, 3), 0 + 2),  # the line goes on
        ((3, 4), 0 + 1),  # runs from RAM, and may load weights
        ((3, 5), 1 + 2),  # the next line
        ((4, 6), 1 + 16),  # sixteen addresses
    ],
)
def test_lines_and_loads(edge: tuple[int, int], fetches: int) -> None:
    segment = {edge: 7}
    estimator = Estimator(CortexM4, parse(LISTING), Profile(BLOCKS, [segment]))
    assert FLASH.fetches(estimator, segment) == 7 * fetches


def test_boards_without_known_wait_states_have_no_interval(tmp_path: Path) -> None:
    for name in ("netduinoplus2", "mps2-an386", "native"):
        assert flash_of(read_board(boards() / name)) is None
    text = (boards() / "netduinoplus2" / "board.toml").read_text()
    (tmp_path / "board.toml").write_text(text.replace("states = 0", "states = 5\nline = 16"))
    assert flash_of(read_board(tmp_path)) == Flash(16, ((0x08000000, 0x08100000),))
