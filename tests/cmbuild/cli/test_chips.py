"""Chips drawn from the table, as boards: they link, and run where a simulator has the core."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from harness.commands import NETWORK, Commands

from cmbuild.chips.board import board_name
from cmbuild.chips.chip import Chip
from cmbuild.chips.table import chips, find_chip

_FLASH, _RAM = 48 << 10, 10 << 10
"""What `mlp` needs on any core, with a little more."""


def drawn(count: int, seed: int) -> list[Chip]:
    """Chips with flash of their own that are large enough for `mlp`."""
    large = [
        chip for chip in chips().values() if chip.flash.size >= _FLASH and chip.ram[0].size >= _RAM
    ]
    return random.Random(seed).sample(large, count)


def outcomes(commands: Commands, sample: list[Chip], model: str) -> Iterator[tuple[str, str]]:
    """Each chip with what came of it: `verified`, or how it failed."""
    for chip in sample:
        name = board_name(chip)
        made = commands("new", "board", name, "--chip", chip.name, "--clock", "48M")
        if made.exit_code:
            yield chip.name, made.stderr
            continue
        run = commands("run", model, "--board", name, "--json")
        if run.exit_code or not run.document["verified"]:
            yield chip.name, run.stderr
        elif not all(op["instructions"] > 0 for op in run.document["instructions"]["per_op"]):
            yield chip.name, "no table of operators"
        else:
            yield chip.name, "verified"


@pytest.mark.parametrize("name", ["GD32E230C8", pytest.param("R7FA8D1BH", marks=pytest.mark.long)])
def test_a_chip_whose_core_another_model_stands_in_for(cmbuild: Commands, name: str) -> None:
    """A Cortex-M23 in Unicorn's M33, and a Cortex-M85 whose memory no machine of QEMU has.

    A board with that M85 is among those that people own.
    """
    assert dict(outcomes(cmbuild, [find_chip(name)], str(NETWORK))) == {name: "verified"}


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_forty_chips(cmbuild: Commands) -> None:
    sample = drawn(40, seed=34)
    assert dict(outcomes(cmbuild, sample, "mlp")) == {chip.name: "verified" for chip in sample}
