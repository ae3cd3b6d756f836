"""Checks of an image before it is executed: one clear line instead of a lock-up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from cmbuild.boards.board import Board
from cmbuild.boards.memory import Region
from cmbuild.errors import Failed
from cmbuild.image.elf import NoVectors, Vectors
from cmbuild.image.record import ImageRecord

ALIGNMENT = 16
"""Alignment of constants and arena: struct cm_context of cmrt/program.h. With less, MVE's vector
loads fault on silicon, though not in QEMU.
"""

_STACK_ALIGNMENT = 8  # Procedure Call Standard for the Arm Architecture, "Stack constraints"


class OutsideMemory(Failed):
    template = "{what} of {image} is at 0x{start:08x}–0x{end:08x}, where {place} has no memory"
    hint = "`cmbuild boards {board}` shows its memory; link script and board.toml must agree"


class Misaligned(Failed):
    template = "{what} of {image} is at 0x{start:08x}, which is not aligned to {alignment} bytes"
    hint = "the link script of {board} must keep its input sections aligned"


class BadReset(Failed):
    template = "{image} starts at 0x{start:08x}, which is not Thumb code"
    hint = "the second word of the section .vectors must be the address of cm_reset, plus one"


class LacksKernels(Failed):
    template = "{image} has no {kernels}, called by the program"
    hint = "the image is of another program, or its library of another runtime: `cmbuild clean`"


def check_image(
    image: Path,
    record: ImageRecord,
    board: Board,
    *,
    kernels: Iterable[str],
    machine: str,
    memory: Sequence[Region] | None,
) -> None:
    """Checks everything about an image before it is executed.

    Args:
        record: of the image.
        kernels: names of those that the program calls, without `cm_`.
        machine: what executes it, for people.
        memory: of the machine; None if it is the board's own, or unknown.

    Raises:
        OutsideMemory, Misaligned, BadReset, LacksKernels, NoVectors.
    """
    check_kernels(image, record, kernels)
    if board.layout is None:
        return
    check_placement(image, record, board)
    if memory is not None:
        _check_memory(image, record, board, machine, memory)
    check_alignment(image, record, board)


def check_kernels(image: Path, record: ImageRecord, kernels: Iterable[str]) -> None:
    """Raises LacksKernels if the image does not define one of them."""
    wanted = {f"cm_{kernel}" for kernel in kernels}
    if missing := sorted(wanted - record.functions.keys()):
        raise LacksKernels(image=image, kernels=", ".join(missing))


def check_placement(image: Path, record: ImageRecord, board: Board) -> None:
    """Checks that everything loaded, and the initial stack, lies in the board's memory.

    Raises:
        OutsideMemory: names the first that does not.
        Misaligned: the stack.
        BadReset, NoVectors: it cannot start.
    """
    if board.layout is None:
        return
    top, reset = _vectors(image, record)
    if top % _STACK_ALIGNMENT:
        raise Misaligned(
            what="the stack", image=image, start=top, alignment=_STACK_ALIGNMENT, board=board.name
        )
    _check_memory(image, record, board, board.name, tuple(board.regions.values()))
    code = (s for s in record.segments if s.loaded)
    if not reset & 1 or not any(s.address <= reset < s.address + s.loaded for s in code):
        raise BadReset(image=image, start=reset & ~1)


def check_alignment(image: Path, record: ImageRecord, board: Board) -> None:
    """Raises Misaligned if weights or arena are not aligned as kernels require."""
    for name, what in ((".weights", "the section .weights"), (".arena", "the arena")):
        start = record.sections.get(name)
        if start is not None and start % ALIGNMENT:
            raise Misaligned(
                what=what, image=image, start=start, alignment=ALIGNMENT, board=board.name
            )


def _check_memory(
    image: Path, record: ImageRecord, board: Board, place: str, memory: Sequence[Region]
) -> None:
    def check(what: str, start: int, size: int) -> None:
        if not any(region.holds(start, size) for region in memory):
            end = start + size
            raise OutsideMemory(
                what=what, image=image, start=start, end=end, place=place, board=board.name
            )

    for segment in record.segments:
        for start, size in ((segment.address, segment.size), (segment.physical, segment.loaded)):
            if size:
                check("a segment", start, size)
    top = _vectors(image, record).stack
    stack = record.sizes.stack if board.stack is None else board.stack
    check("the stack", top - stack, stack)


def _vectors(image: Path, record: ImageRecord) -> Vectors:
    if record.vectors is None:
        raise NoVectors(image=image)
    return record.vectors
