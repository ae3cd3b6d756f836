"""Thumb instructions, as far as they move the stack pointer or leave the straight line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

_SP, _LR, _PC = 13, 14, 15
_FRAME_POINTERS = (7, 11)


class Flow(Enum):
    """Where execution goes after an instruction."""

    NEXT = auto()
    JUMP = auto()
    BRANCH = auto()
    """To the target or to the next instruction."""
    CALL = auto()
    CALL_POINTER = auto()
    TAIL_POINTER = auto()
    """A call by pointer that does not return here."""
    TABLE = auto()
    """To one of several places of the same function."""
    RETURN = auto()


class Sets(Enum):
    """How an instruction that assigns the stack pointer finds its value."""

    BY_REGISTER = auto()
    """Adds a register to it, or copies one."""
    FROM_FRAME = auto()
    """Takes the variables of a frame off, by a frame pointer."""


@dataclass(frozen=True, slots=True)
class Thumb:
    """An instruction.

    Attributes:
        size: bytes.
        pushed: bytes that the stack grows by.
        target: of a jump, branch or call.
        guarded: how many instructions after it are conditional.
        sets: None unless it assigns the stack pointer in a way that `pushed` does not state.
        register: that is added to the stack pointer or copied to it; which gets a constant.
        negative: whether that register is subtracted.
        constant: that a register gets.
        literal: address of the word that a register gets.
        upper: whether the constant is the register's upper half, and the rest stays.
        copy: register that gets the stack pointer.
        aligns: register whose value it rounds down to eight bytes.
    """

    size: int
    pushed: int = 0
    flow: Flow = Flow.NEXT
    target: int | None = None
    guarded: int = 0
    sets: Sets | None = None
    register: int | None = None
    negative: bool = False
    constant: int | None = None
    literal: int | None = None
    upper: bool = False
    copy: int | None = None
    aligns: int | None = None


def is_long(first: int) -> bool:
    """Whether the instruction that begins with a halfword has a second one."""
    return first >= 0xE800


def decode(address: int, first: int, second: int) -> Thumb:
    """
    Args:
        first: halfword at the address.
        second: the one after it, which a short instruction ignores.
    """
    if is_long(first):
        for row in _LONG:
            if first & row.mask == row.value and second & row.second_mask == row.second_value:
                return row.decode(address, first, second)
        return Thumb(4)
    for row in _SHORT:
        if first & row.mask == row.value:
            return row.decode(address, first, second)
    return Thumb(2)


@dataclass(frozen=True, slots=True)
class _Row:
    """An encoding: bits that tell it, and what decodes it."""

    mask: int
    value: int
    decode: Callable[[int, int, int], Thumb]
    second_mask: int = 0
    second_value: int = 0


def _push(address: int, word: int, _: int) -> Thumb:
    return Thumb(2, 4 * (word & 0x1FF).bit_count())


def _pop(address: int, word: int, _: int) -> Thumb:
    flow = Flow.RETURN if word & 0x100 else Flow.NEXT
    return Thumb(2, -4 * (word & 0x1FF).bit_count(), flow)


def _move_stack(address: int, word: int, _: int) -> Thumb:
    return Thumb(2, 4 * (word & 0x7F) * (1 if word & 0x80 else -1))


def _exchange(address: int, word: int, _: int) -> Thumb:
    if word & 0x80:
        return Thumb(2, flow=Flow.CALL_POINTER)
    return Thumb(2, flow=Flow.RETURN if word >> 3 & 15 == _LR else Flow.TAIL_POINTER)


def _high_register(address: int, word: int, _: int) -> Thumb:
    """Additions and copies that may name any register."""
    to, source = (word & 7) | (word >> 4 & 8), word >> 3 & 15
    if to == _PC:
        return Thumb(2, flow=Flow.RETURN if source == _LR else Flow.TABLE)
    copies = word & 0x200
    if to != _SP:
        return Thumb(2, copy=to if copies and source == _SP else None)
    if copies and source in _FRAME_POINTERS:
        return Thumb(2, sets=Sets.FROM_FRAME)
    return Thumb(2, sets=Sets.BY_REGISTER, register=None if copies else source)


def _undefined(address: int, word: int, _: int) -> Thumb:
    return Thumb(2, flow=Flow.RETURN)


def _call_supervisor(address: int, word: int, _: int) -> Thumb:
    return Thumb(2)


def _branch(address: int, word: int, _: int) -> Thumb:
    return Thumb(2, flow=Flow.BRANCH, target=address + 4 + 2 * _signed(word, 8))


def _jump(address: int, word: int, _: int) -> Thumb:
    return Thumb(2, flow=Flow.JUMP, target=address + 4 + 2 * _signed(word, 11))


def _compare_and_branch(address: int, word: int, _: int) -> Thumb:
    offset = (word >> 3 & 0x40) | (word >> 2 & 0x3E)
    return Thumb(2, flow=Flow.BRANCH, target=address + 4 + offset)


def _if_then(address: int, word: int, _: int) -> Thumb:
    return Thumb(2, guarded=(4 - (word & -word).bit_length() + 1) if word & 0xF else 0)


def _load_literal(address: int, word: int, _: int) -> Thumb:
    place = (address + 4 & ~3) + 4 * (word & 0xFF)
    return Thumb(2, register=word >> 8 & 7, literal=place)


def _move_byte(address: int, word: int, _: int) -> Thumb:
    return Thumb(2, register=word >> 8 & 7, constant=word & 0xFF)


_SHORT = (
    _Row(0xFE00, 0xB400, _push),
    _Row(0xFE00, 0xBC00, _pop),
    _Row(0xFF00, 0xB000, _move_stack),
    _Row(0xFF00, 0x4400, _high_register),
    _Row(0xFF00, 0x4600, _high_register),
    _Row(0xFF00, 0x4700, _exchange),
    _Row(0xFF00, 0xDE00, _undefined),
    _Row(0xFF00, 0xDF00, _call_supervisor),
    _Row(0xF000, 0xD000, _branch),
    _Row(0xF800, 0xE000, _jump),
    _Row(0xF500, 0xB100, _compare_and_branch),
    _Row(0xFF00, 0xBF00, _if_then),
    _Row(0xF800, 0x4800, _load_literal),
    _Row(0xF800, 0x2000, _move_byte),
)
"""ARM's "Thumb instruction set encoding", 16-bit; the first row that fits decodes."""


def _push_many(address: int, first: int, second: int) -> Thumb:
    return Thumb(4, 4 * second.bit_count())


def _pop_many(address: int, first: int, second: int) -> Thumb:
    return Thumb(4, -4 * second.bit_count(), Flow.RETURN if second & 0x8000 else Flow.NEXT)


def _push_one(address: int, first: int, second: int) -> Thumb:
    return Thumb(4, second & 0xFF)


def _pop_one(address: int, first: int, second: int) -> Thumb:
    return Thumb(4, -(second & 0xFF), Flow.RETURN if second >> 12 == _PC else Flow.NEXT)


def _push_words(address: int, first: int, second: int) -> Thumb:
    """Two registers, or those of the FPU."""
    return Thumb(4, 4 * (second & 0xFF))


def _pop_words(address: int, first: int, second: int) -> Thumb:
    return Thumb(4, -4 * (second & 0xFF))


def _table(address: int, first: int, second: int) -> Thumb:
    return Thumb(4, flow=Flow.TABLE)


def _far_literal(address: int, first: int, second: int) -> Thumb:
    offset = (second & 0xFFF) * (1 if first & 0x80 else -1)
    return Thumb(4, register=second >> 12, literal=(address + 4 & ~3) + offset)


def _far_jump(address: int, first: int, second: int) -> Thumb:
    """With or without a return."""
    sign, near, far = first >> 10 & 1, second >> 13 & 1, second >> 11 & 1
    high = sign << 24 | (near ^ sign ^ 1) << 23 | (far ^ sign ^ 1) << 22
    offset = high | (first & 0x3FF) << 12 | (second & 0x7FF) << 1
    flow = Flow.CALL if second & 0x4000 else Flow.JUMP
    return Thumb(4, flow=flow, target=address + 4 + _signed(offset, 25))


def _far_branch(address: int, first: int, second: int) -> Thumb:
    if first >> 6 & 0xF >= 14:
        return Thumb(4)  # hints, barriers, special registers
    sign, near, far = first >> 10 & 1, second >> 13 & 1, second >> 11 & 1
    offset = sign << 20 | far << 19 | near << 18 | (first & 0x3F) << 12 | (second & 0x7FF) << 1
    return Thumb(4, flow=Flow.BRANCH, target=address + 4 + _signed(offset, 21))


def _wide(first: int, second: int) -> int:
    """i:imm3:imm8."""
    return (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | (second & 0xFF)


def _move_half(address: int, first: int, second: int) -> Thumb:
    constant = (first & 15) << 12 | _wide(first, second)
    return Thumb(4, register=second >> 8 & 15, constant=constant, upper=first & 0x80 != 0)


def _move_word(address: int, first: int, second: int) -> Thumb:
    return Thumb(4, register=second >> 8 & 15, constant=_expanded(_wide(first, second)))


def _stack_by_number(address: int, first: int, second: int) -> Thumb:
    """ADD, ADDW, SUB or SUBW to the stack pointer."""
    if first & 15 != _SP:
        return Thumb(4, sets=Sets.FROM_FRAME)
    wide = _wide(first, second)
    number = wide if first & 0x200 else _expanded(wide)
    return Thumb(4, number if first & 0xA0 else -number)


def _align(address: int, first: int, second: int) -> Thumb:
    """BIC or BFC."""
    return Thumb(4, aligns=second >> 8 & 15 if first & 0x40 else first & 15)


def _stack_by_register(address: int, first: int, second: int) -> Thumb:
    adds = first & 0xFFEF == 0xEB0D or first & 0xFFEF == 0xEBAD
    known = second & 15 if adds and second & 0x70C0 == 0 else None
    negative = first & 0xA0 == 0xA0
    return Thumb(4, sets=Sets.BY_REGISTER, register=known, negative=negative)


_LONG = (
    _Row(0xFFFF, 0xE92D, _push_many),
    _Row(0xFFFF, 0xE8BD, _pop_many),
    _Row(0xFFFF, 0xF84D, _push_one, 0xF00, 0xD00),
    _Row(0xFFFF, 0xF85D, _pop_one, 0xF00, 0xB00),
    _Row(0xFFFF, 0xE96D, _push_words),
    _Row(0xFFFF, 0xE8FD, _pop_words),
    _Row(0xFFBF, 0xED2D, _push_words, 0xE00, 0xA00),
    _Row(0xFFBF, 0xECBD, _pop_words, 0xE00, 0xA00),
    _Row(0xFFF0, 0xE8D0, _table, 0xFFE0, 0xF000),
    _Row(0xFF70, 0xF850, _table, 0xF000, 0xF000),
    _Row(0xFF7F, 0xF85F, _far_literal),
    _Row(0xF800, 0xF000, _far_jump, 0x9000, 0x9000),
    _Row(0xF800, 0xF000, _far_branch, 0xD000, 0x8000),
    _Row(0xFB70, 0xF240, _move_half, 0x8000, 0),
    _Row(0xFBEF, 0xF04F, _move_word, 0x8000, 0),
    *(
        _Row(0xFBE0, value, _stack_by_number, 0x8F00, _SP << 8)
        for value in (0xF100, 0xF1A0, 0xF200, 0xF2A0)
    ),
    _Row(0xFFF0, 0xF020, _align, 0xF0FF, 0x0007),
    _Row(0xFFFF, 0xF36F, _align, 0xF0FF, 0x0002),
    _Row(0xFE00, 0xEA00, _stack_by_register, 0x0F00, _SP << 8),
)
"""The same, 32-bit. Loops of Armv8.1-M are none of these: their code is reached without them."""


def _expanded(wide: int) -> int:
    """ThumbExpandImm of the Armv7-M and Armv8-M manuals."""
    byte = wide & 0xFF
    if wide < 0x400:
        return (byte, byte * 0x10001, byte * 0x1000100, byte * 0x1010101)[wide >> 8]
    value, turn = 0x80 | byte & 0x7F, wide >> 7
    return (value >> turn | value << 32 - turn) & 0xFFFFFFFF


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits)
