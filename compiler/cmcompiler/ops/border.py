"""Margins made of a tensor's own border: reflection and replication padding."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ops.support.movement import move

LARGEST = (1 << 15) - 1

Part = tuple[int, int, int, int]
"""First index read, number of indices, step between them, and first index written."""


def _reflected(size: int, before: int, after: int) -> list[Part]:
    """The border itself is not repeated."""
    return [(before, before, -1, 0), (0, size, 1, before), (size - 2, after, -1, before + size)]


def _replicated(size: int, before: int, after: int) -> list[Part]:
    return [(0, before, 0, 0), (0, size, 1, before), (size - 1, after, 0, before + size)]


def _reader(parts: Callable[[int, int, int], list[Part]], longest: int) -> Callable[[Call], None]:
    """A reader of paddings that may exceed the size of their dimension by `longest`."""

    def read(call: Call) -> None:
        source, output = call.tensor("self"), call.output("out")
        margins = call.integers("padding", None, 0, LARGEST)
        if len(margins) % 2 or len(margins) > 2 * source.rank or source.rank != output.rank:
            call.invalid(f"{len(margins)} margins for {source.rank} dimensions")
        choices = []
        for i, (before, after) in enumerate(zip(margins[::2], margins[1::2], strict=True)):
            dim = source.rank - 1 - i
            size = source.shape[dim]
            if size == 0 or max(before, after) > size + longest:
                call.invalid(f"margins of {before} and {after} around {size}")
            choices.append([(dim, *part) for part in parts(size, before, after) if part[1]])
        pieces = []
        for choice in product(*choices):
            reads, writes = Strided.of(source), Strided.of(output)
            for dim, first, count, step, target in choice:
                reads = reads.slice(dim, first, count, step)
                writes = writes.slice(dim, target, count)
            pieces.append((source, reads, writes))
        sizes = list(source.shape)
        for i, (before, after) in enumerate(zip(margins[::2], margins[1::2], strict=True)):
            sizes[source.rank - 1 - i] += before + after
        if list(output.shape) != sizes:
            call.invalid(f"output is {list(output.shape)}, not {sizes}")
        move(call, "pad", output, pieces)

    return read


for _rank in (1, 2, 3):
    _arguments = f"(Tensor self, int[{2 * _rank}] padding, *, Tensor(a!) out)"
    program_op(f"aten::reflection_pad{_rank}d.out{_arguments}")(_reader(_reflected, -1))
    program_op(f"aten::replication_pad{_rank}d.out{_arguments}")(_reader(_replicated, LARGEST))
