"""Copies that an operator asks for, or the view that saves them."""

from __future__ import annotations

from collections.abc import Sequence

from cmcompiler.decode.call import Call
from cmcompiler.ir.movement.copy import Copy, is_unmoved
from cmcompiler.ir.movement.loops import Loops, Strided
from cmcompiler.ir.movement.piece import Piece
from cmcompiler.ir.movement.view import Part, View
from cmcompiler.ir.op import ALIGN, Op
from cmcompiler.ir.operand import Operand


def broadcast(call: Call, operand: Operand, shape: Sequence[int]) -> Strided:
    """All of an operand, repeated to a logical shape; refuses what does not broadcast."""
    try:
        return Strided.of(operand).broadcast(shape)
    except ValueError as error:
        call.invalid(str(error))


def move(
    call: Call,
    name: str,
    output: Operand,
    pieces: Sequence[tuple[Operand, Strided, Strided]],
    fill: int | float | bool | None = None,
) -> None:
    """Emits the copies of (operand, window read, window written); a view if memory stays as it is.

    Windows written are on `output`; each pair has one shape.
    """
    shape = output.tensor.shape
    for operand, reads, writes in pieces:
        if reads.shape != writes.shape:
            call.invalid(f"{name} of {list(reads.shape)} to {list(writes.shape)}")
        if operand.dtype != output.dtype:
            call.unsupported(f"{name} from {operand.dtype.name} to {output.dtype.name}")
    if len(pieces) == 1:
        operand, reads, writes = pieces[0]
        view = _view(operand, reads, output, writes)
        if view is not None:
            call.emit(view, [operand.tensor], [output.tensor])
            return
    tensors = list(dict.fromkeys(operand.tensor for operand, _, _ in pieces))
    placed = tuple(
        Piece(tensors.index(operand.tensor), reads, writes) for operand, reads, writes in pieces
    )
    call.emit(Copy(name, output.dtype, shape, placed, fill), tensors, [output.tensor])


def _view(operand: Operand, reads: Strided, output: Operand, writes: Strided) -> Op | None:
    """The op that shows the window read as the output without a copy, if there is one."""
    shape = output.tensor.shape
    if operand.numel == reads.numel == output.numel and is_unmoved(reads, writes):
        return View(shape)
    if reads.numel == 0 or reads.numel != output.numel:
        return None
    loops, offset = Loops.over(reads, writes), reads.offset * output.dtype.itemsize
    is_part = writes.offset == 0 and loops.dense(0) and loops.dense(1)
    return Part(shape, offset) if is_part and offset % ALIGN == 0 else None
