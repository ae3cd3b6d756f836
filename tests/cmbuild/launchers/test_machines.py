"""What is said of QEMU's boards holds for the QEMU at hand, and for the boards that use them."""

from __future__ import annotations

import pytest

from cmbuild.boards.link_script import render
from cmbuild.boards.registry import board_folders
from cmbuild.catalog import find_board
from cmbuild.launchers.registry import launchers_of, simulated_memory
from cmbuild.launchers.simulators.qemu import Qemu

SIMULATED = [
    board
    for board in map(find_board, board_folders())
    if any(isinstance(launcher, Qemu) for launcher in launchers_of(board))
]


@pytest.mark.parametrize("board", SIMULATED, ids=lambda board: board.name)
def test_the_sections_of_a_board_are_in_the_memory_of_a_simulator(board):
    """The workspace, which only tests use, included; what one lacks the next of the board's has.

    A launcher whose machine has other memory says where a region is there.
    """
    layout = board.layout
    places = [
        (launcher.moves, memory)
        for launcher in launchers_of(board)
        for memory in launcher.memory or ()
    ]
    names = (layout.code, layout.constants, layout.data, layout.arena, layout.workspace)
    for name in filter(None, names):
        region = board.regions[name]
        assert any(
            memory.holds(moves.get(name, region.origin), region.size) for moves, memory in places
        ), region


def test_the_workspace_is_what_every_simulator_has():
    board = find_board("rp2350")
    assert board.regions["sram"].end == 0x20082000
    assert "cm_workspace_end = 0x20080000;" in render(board, simulated_memory(board))


def test_properties_of_the_microbit_are_its_memory():
    (qemu,) = launchers_of(find_board("microbit"))
    sizes = [qemu.properties[f"nrf51-soc.{kind}-size"] for kind in ("flash", "sram")]
    assert [region.size for region in qemu.memory] == sizes


def test_the_memory_of_a_machine_may_be_unknown():
    assert Qemu("lm3s6965evb", 1).memory is None
