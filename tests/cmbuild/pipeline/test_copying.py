"""Which boards get a program's kernels and constants in RAM."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cmbuild.catalog import find_board
from cmbuild.pipeline.copying import HotSteps, hot_steps, placed, with_copies

G0B1 = find_board("nucleo-g0b1re")  # 144 KB of RAM, 4 of them for the stack


def copies(constants: int, arena: int = 0, name: str | None = None) -> bool:
    board = G0B1 if name is None else find_board(name)
    placed = with_copies(board, constants, arena)
    assert placed.layout is not None
    changed = placed.layout.hot_constants is not None
    assert placed == board or changed
    return changed


@pytest.mark.parametrize(
    ("constants", "arena", "expected"),
    [
        (104 << 10, 0, True),
        ((104 << 10) + 1, 0, False),
        (84 << 10, 20 << 10, True),
        ((84 << 10) + 1, 20 << 10, False),
        (0, 0, False),
    ],
)
def test_a_quarter_of_the_ram_stays_free(constants: int, arena: int, expected: bool) -> None:
    assert copies(constants, arena) == expected


def test_boards_that_do_not_describe_their_flash_keep_their_images() -> None:
    for name in ("mps2-an386", "netduinoplus2", "rp2350", "corstone300"):
        assert not copies(100, name=name)
    native = find_board("native")
    assert with_copies(native, 100, 0) == native


def test_arenas_elsewhere_do_not_count() -> None:
    assert G0B1.layout is not None
    elsewhere = replace(G0B1, layout=G0B1.layout.model_copy(update={"arena": "other"}))
    assert with_copies(elsewhere, 104 << 10, 1 << 20) != elsewhere


def test_a_board_that_says_so_itself_is_as_it_says() -> None:
    assert G0B1.layout is not None
    own = replace(G0B1, layout=G0B1.layout.model_copy(update={"hot_constants": "ram"}))
    assert with_copies(own, 1 << 20, 0) == own


@pytest.mark.parametrize(
    ("constants", "arena", "places"),
    [
        (72 << 10, 0, ("ram", "ram")),
        ((72 << 10) + 1, 0, (None, "ram")),  # constants alone have room
        (104 << 10, 0, (None, "ram")),
        ((104 << 10) + 1, 0, ("ram", None)),
        (0, 72 << 10, ("ram", None)),
        (0, (72 << 10) + 1, (None, None)),
    ],
)
def test_constants_come_before_kernels_if_not_both_have_room(
    constants: int, arena: int, places: tuple[str | None, str | None]
) -> None:
    layout = placed(G0B1, constants, arena).layout
    assert layout is not None
    assert (layout.hot_kernels, layout.hot_constants) == places


def test_code_can_take_ram_that_its_bus_reads_and_leave_the_rest_to_variables() -> None:
    board = placed(find_board("nucleo-l4r5zi"), 200 << 10, 50 << 10)
    assert board.layout is not None
    code, data = (board.regions[name] for name in ("code_ram", "ram"))
    assert board.layout.hot_kernels == "code_ram"
    assert (code.origin, data.origin, data.size) == (0x10000000, 0x20040000, 384 << 10)
    large = placed(find_board("nucleo-l4r5zi"), 300 << 10, 50 << 10)
    assert large.layout is not None
    assert (large.layout.hot_kernels, large.layout.hot_constants) == (None, "ram")


@pytest.mark.parametrize(
    ("constants", "expected"),
    [
        ([50 << 10, 0, 50 << 10, 50 << 10], HotSteps(3, (100 << 10) + 64)),
        ([0, 200 << 10], None),  # the first one has no room
        ([50 << 10, 50 << 10], None),  # all have
        ([90 << 10, 300 << 10], None),  # flash has none for a copy
        ([50 << 10, 300 << 10], HotSteps(1, (50 << 10) + 64)),
    ],
)
def test_the_first_steps_are_copied_where_not_all_have_room(
    constants: list[int], expected: HotSteps | None
) -> None:
    assert hot_steps(G0B1, constants=constants, arena=0) == expected
    assert hot_steps(find_board("microbit"), constants=constants, arena=0) is None
