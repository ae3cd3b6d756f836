"""STRIDED_SLICE: an index, a span, a new dimension or all that is left, for each entry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from cmcompiler.decode.call import Call
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ops.support.movement import move
from cmcompiler.ops.tflite._scales import tflite_op
from cmcompiler.ops.tflite.movement import read_integers

MOST_ENTRIES = 32
"""The masks have a bit for each entry."""


@dataclass(frozen=True, slots=True)
class SliceEntry:
    """The part of a dimension that is read.

    Attributes:
        first, stop: as in Python's slices; None for the end in the direction of the step.
        shrinks: only the first element is read, and the dimension goes.
    """

    first: int | None = None
    stop: int | None = None
    step: int = 1
    shrinks: bool = False


class OtherEntry(Enum):
    """Entries that are for no one dimension of the input."""

    NEW = auto()
    """A new dimension of one."""

    REST = auto()
    """All dimensions that no other entry is for."""


@tflite_op("STRIDED_SLICE")
def read_strided_slice(call: Call) -> None:
    source, output = call.tensor("input"), call.output("out")
    items = [*_items(call)]
    if OtherEntry.REST not in items:
        items.append(OtherEntry.REST)
    rest = source.rank - sum(isinstance(item, SliceEntry) for item in items)
    if rest < 0:
        call.invalid(f"{source.rank - rest} entries for {list(source.shape)}")
    reads, dim = Strided.of(source), 0
    for item in items:
        if item is OtherEntry.REST:
            dim += rest
        elif isinstance(item, SliceEntry):
            reads = _part(call, reads, dim, item)
            dim += not item.shrinks
        else:
            reads, dim = reads.insert(dim), dim + 1
    if len(reads.shape) != output.rank:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    move(call, "slice", output, [(source, reads, Strided.of(output))])


def _items(call: Call) -> Iterator[SliceEntry | OtherEntry]:
    begins = read_integers(call, "begin")
    ends, strides = (read_integers(call, name, len(begins)) for name in ("end", "strides"))
    if len(begins) > MOST_ENTRIES:
        call.invalid(f"it has {len(begins)} entries")
    rest, new, shrunk, open_begins, open_ends = (
        call.integer(f"{name}_mask")
        for name in ("ellipsis", "new_axis", "shrink_axis", "begin", "end")
    )
    if (rest & (1 << len(begins)) - 1).bit_count() > 1:
        call.invalid("it has more than one ellipsis")
    are_lengths = call.boolean("offset")
    for place, (begin, end, step) in enumerate(zip(begins, ends, strides, strict=True)):
        bit = 1 << place
        if rest & bit:
            yield OtherEntry.REST
        elif new & bit:
            yield OtherEntry.NEW
        else:
            first = None if open_begins & bit else begin
            stop = begin + end if are_lengths else end
            is_index = bool(shrunk & bit)
            yield SliceEntry(first, None if open_ends & bit else stop, step, is_index)


def _part(call: Call, reads: Strided, dim: int, entry: SliceEntry) -> Strided:
    length = reads.shape[dim]
    if entry.step == 0 or (entry.shrinks and entry.step < 0):
        call.invalid(f"a stride is {entry.step}")
    if entry.shrinks:
        first = entry.first or 0
        if not -length <= first < length:
            call.invalid(f"index {first} of {length} elements")
        return reads.select(dim, first % length)
    indices = range(*slice(entry.first, entry.stop, entry.step).indices(length))
    return reads.slice(dim, indices.start if indices else 0, len(indices), indices.step)
