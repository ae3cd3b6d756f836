"""A function's stack follows from its code, whatever way it takes."""

from __future__ import annotations

import struct

import pytest

from cmbuild.image.frame import FunctionFrame, Loaded, UnknownFrame, frame_of

PLACE = 0x1000


def frame(*words: int, data: dict[int, int] | None = None) -> FunctionFrame:
    code = struct.pack(f"<{len(words)}H", *words)
    return frame_of(code, PLACE, PLACE, data or {}, Loaded({PLACE: code}))


def test_a_return_that_is_conditional_leaves_the_frame_as_it_was() -> None:
    # push {r4, lr}; it eq; popeq {r4, pc}; sub sp, #8; bl .; add sp, #8; pop {r4, pc}
    made = frame(0xB510, 0xBF08, 0xBD10, 0xB082, 0xF7FF, 0xFFFE, 0xB002, 0xBD10)
    assert (made.deepest, made.calls) == (16, {PLACE + 8: 16})


def test_a_register_that_moves_the_stack_has_a_known_constant() -> None:
    # push {r4, lr}; ldr r4, [pc, #4]; add sp, r4; b .+4; -512
    made = frame(0xB510, 0x4C01, 0x44A5, 0xE7FE, 0xFE00, 0xFFFF, data={PLACE + 8: PLACE + 12})
    assert made.deepest == 8 + 512


def test_what_a_table_leads_to_has_the_depth_of_the_jump() -> None:
    # push {r4, lr}; tbb [pc, r0]; one word of table; sub sp, #8; bx lr
    words = (0xB510, 0xE8DF, 0xF000, 0x0001, 0xB082, 0x4770)
    assert frame(*words, data={PLACE + 6: PLACE + 8}).deepest == 16


def test_a_tail_call_is_made_with_what_is_left_on_the_stack() -> None:
    # push {r4, lr}; blx r1; pop {r4, lr}; b.w elsewhere
    made = frame(0xB510, 0x4788, 0xE8BD, 0x4010, 0xF000, 0xB8FE)
    assert (made.deepest, made.pointers, list(made.calls.values())) == (8, 8, [0])


def test_a_call_of_the_next_instruction_is_none() -> None:
    # push {r4, lr}; bl .+4; pop {r4, pc}
    made = frame(0xB510, 0xF000, 0xF800, 0xBD10)
    assert (made.deepest, made.calls) == (8, {})


@pytest.mark.parametrize(
    "words",
    [
        (0xB580, 0xB084, 0xEBAD, 0x0D03, 0xE7FE),  # sub.w sp, sp, r3, of an unknown r3
        (0xB410, 0xE7FD),  # a loop that pushes
    ],
)
def test_an_amount_that_only_a_run_knows_is_refused(words: tuple[int, ...]) -> None:
    with pytest.raises(UnknownFrame):
        frame(*words)
