"""Instructions are told apart by their encodings, as an assembler writes them."""

from __future__ import annotations

import pytest

from cmbuild.image.thumb import Flow, Sets, Thumb, decode

PLACE = 0x1000


@pytest.mark.parametrize(
    ("words", "thumb"),
    [
        ("b570", Thumb(2, 16)),  # push {r4, r5, r6, lr}
        ("bd70", Thumb(2, -16, Flow.RETURN)),  # pop {r4, r5, r6, pc}
        ("b082", Thumb(2, 8)),  # sub sp, #8
        ("b002", Thumb(2, -8)),  # add sp, #8
        ("44a5", Thumb(2, sets=Sets.BY_REGISTER, register=4)),  # add sp, r4
        ("46bd", Thumb(2, sets=Sets.FROM_FRAME)),  # mov sp, r7
        ("4685", Thumb(2, sets=Sets.BY_REGISTER)),  # mov sp, r0
        ("4770", Thumb(2, flow=Flow.RETURN)),  # bx lr
        ("4718", Thumb(2, flow=Flow.TAIL_POINTER)),  # bx r3
        ("4798", Thumb(2, flow=Flow.CALL_POINTER)),  # blx r3
        ("469f", Thumb(2, flow=Flow.TABLE)),  # mov pc, r3
        ("d0fe", Thumb(2, flow=Flow.BRANCH, target=PLACE)),  # beq .
        ("df00", Thumb(2)),  # svc 0
        ("e7fe", Thumb(2, flow=Flow.JUMP, target=PLACE)),  # b .
        ("b118", Thumb(2, flow=Flow.BRANCH, target=PLACE + 10)),  # cbz r0
        ("bf08", Thumb(2, guarded=1)),  # it eq
        ("bf01", Thumb(2, guarded=4)),  # itttt eq
        ("bf00", Thumb(2)),  # nop
        ("4c02", Thumb(2, register=4, literal=PLACE + 12)),  # ldr r4, [pc, #8]
        ("2480", Thumb(2, register=4, constant=0x80)),  # movs r4, #128
        ("e92d 4ff0", Thumb(4, 36)),  # push {r4-r11, lr}
        ("e8bd 8ff0", Thumb(4, -36, Flow.RETURN)),  # pop {r4-r11, pc}
        ("f84d ed04", Thumb(4, 4)),  # push {lr}
        ("f85d fb04", Thumb(4, -4, Flow.RETURN)),  # pop {pc}
        ("e96d 4502", Thumb(4, 8)),  # strd r4, r5, [sp, #-8]!
        ("ed2d 8b10", Thumb(4, 64)),  # vpush {d8-d15}
        ("ecbd 8b10", Thumb(4, -64)),  # vpop {d8-d15}
        ("f5ad 7d04", Thumb(4, 528)),  # sub.w sp, sp, #528
        ("f60d 0d0c", Thumb(4, -2060)),  # addw sp, sp, #2060
        ("f107 0d18", Thumb(4, sets=Sets.FROM_FRAME)),  # add.w sp, r7, #24
        ("ebad 0d03", Thumb(4, sets=Sets.BY_REGISTER, register=3, negative=True)),
        ("f7ff fffe", Thumb(4, flow=Flow.CALL, target=PLACE)),  # bl .
        ("f7ff bffe", Thumb(4, flow=Flow.JUMP, target=PLACE)),  # b.w .
        ("f43f affe", Thumb(4, flow=Flow.BRANCH, target=PLACE)),  # beq.w .
        ("f3bf 8f4f", Thumb(4)),  # dsb sy
        ("f00f c001", Thumb(4)),  # le
        ("e8df f003", Thumb(4, flow=Flow.TABLE)),  # tbb [pc, r3]
        ("f8df f004", Thumb(4, flow=Flow.TABLE)),  # ldr.w pc, [pc, #4]
        ("f8df 4008", Thumb(4, register=4, literal=PLACE + 12)),  # ldr.w r4, [pc, #8]
        ("f241 2334", Thumb(4, register=3, constant=0x1234)),  # movw r3, #0x1234
        ("f2c2 0300", Thumb(4, register=3, constant=0x2000, upper=True)),  # movt r3, #0x2000
        ("f44f 7304", Thumb(4, register=3, constant=528)),  # mov.w r3, #528
        ("f020 0107", Thumb(4, aligns=0)),  # bic.w r1, r0, #7
        ("f36f 0402", Thumb(4, aligns=4)),  # bfc r4, #0, #3
        ("4668", Thumb(2, copy=0)),  # mov r0, sp
    ],
)
def test_what_moves_the_stack_or_leaves_the_line(words: str, thumb: Thumb) -> None:
    first, second = (*(int(word, 16) for word in words.split()), 0)[:2]
    assert decode(PLACE, first, second) == thumb
