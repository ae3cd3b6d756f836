"""A module of simulators is a launcher: its table, its name, its place in help."""

from __future__ import annotations

import pytest

from cmbuild import discovery
from cmbuild.catalog import read_board
from cmbuild.hardware import methods
from cmbuild.hardware.registry import TABLE as FLASH
from cmbuild.hardware.registry import flashing
from cmbuild.launchers import simulators
from cmbuild.launchers.registry import TABLE as LAUNCHERS
from cmbuild.launchers.registry import launchers_of
from cmbuild.strictfile import BrokenFile

BOARD = """\
title = "A board"
isas = ["scalar"]
fpu = "none"
toolchain = "gcc"
cpu = "cortex-m33"
"""


@pytest.fixture
def board(tmp_path):
    def make(text: str, cpu: str = "cortex-m33", fpu: str = "none"):
        start = BOARD.replace("cortex-m33", cpu).replace('"none"', f'"{fpu}"')
        (tmp_path / "board.toml").write_text(start + text)
        return read_board(tmp_path)

    return make


def test_modules_are_the_keys_of_the_tables():
    assert tuple(sorted(LAUNCHERS.model_fields)) == discovery.names(simulators)
    assert tuple(sorted(FLASH.model_fields)) == discovery.names(methods)


def test_the_first_in_the_file_is_preferred(board):
    launchers = launchers_of(
        board('[launchers.unicorn]\n[launchers.qemu]\nmachine = "m"\nticks_per_second = 1\n')
    )
    assert [launcher.name for launcher in launchers] == ["unicorn", "qemu"]
    flash = flashing(board('[flash.pyocd]\ntarget = "t"\n[flash.picotool]\n'))
    assert {name: method.name for name, method in flash.methods.items()} == {
        "pyocd": "pyocd",
        "picotool": "picotool",
    }
    assert list(flash.methods) == ["pyocd", "picotool"]


def test_a_table_may_refuse_the_board(board):
    with pytest.raises(BrokenFile, match=r"board\.toml:6: launchers\.unicorn: .* cortex-m55$"):
        board("[launchers.unicorn]\n", cpu="cortex-m55", fpu="double")
    with pytest.raises(BrokenFile, match=r"board\.toml:7: zephyr\.simulators\.fvp: no such"):
        board('[zephyr.simulators]\nfvp = "theirs"\n')
