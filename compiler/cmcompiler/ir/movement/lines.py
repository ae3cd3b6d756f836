"""Copies from image to image as copies from row to row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.op import Address, KernelCall, Reach, RowAddress, RowCount, Word
from cmcompiler.ir.rows import image_rows, row_bytes
from cmcompiler.ir.tensor import Tensor


@dataclass(frozen=True, slots=True)
class RowPiece:
    """A window on an image that is copied to a window on another one, row by row.

    Attributes:
        reads, writes: within the first row of each.
        first, count: rows of the output that are written.
        source_row: the row that the first one takes.
        factor, divisor: rows of the source from one row to the next.
    """

    reads: Strided
    writes: Strided
    first: int
    count: int
    source_row: int
    factor: int
    divisor: int

    @property
    def _shift(self) -> int:
        return (self.source_row - self.first * self.factor) * self.divisor

    def taken(self, source: Tensor) -> Mapping[Tensor, Reach]:
        """The rows that each row takes."""
        return {source: Reach(self.factor, self._shift, self._shift, self.divisor)}

    def moving(self, call: KernelCall, source: Tensor, output: Tensor) -> KernelCall:
        """A copy of the windows within a row, for the next ones."""

        def moved(word: Word) -> Word:
            if not isinstance(word, Address):
                return word
            if word.tensor is output:
                return RowAddress(output, word.offset)
            return RowAddress(source, word.offset, self.factor, self._shift, self.divisor)

        arguments = dict(call.arguments)
        arguments |= self._counted(arguments, source, output)
        words = [(name, moved(word)) for name, word in arguments.items()]
        return replace(call, arguments=words, rows=(self.first, self.first + self.count))

    def _counted(
        self, words: Mapping[str, Word], source: Tensor, output: Tensor
    ) -> dict[str, Word]:
        """Changed arguments for several rows at once, if the loops of one can go on to the next."""
        sizes = {"input_row": row_bytes(source), "output_row": row_bytes(output)}
        if words["depth"] or (self.factor, self.divisor) != (1, 1):
            return {}
        if words["rows"] == 1:
            return {"rows": RowCount(1), **sizes}
        rows = words["rows"]
        assert isinstance(rows, int)
        is_whole = all(words[name] == size / rows for name, size in sizes.items())
        return {"rows": RowCount(rows)} if is_whole else {}


def piece_rows(reads: Strided, source: Tensor, writes: Strided, output: Tensor) -> RowPiece | None:
    """The rows of a copy; None unless each output row takes parts of just one."""
    rows, height = image_rows(output), image_rows(source)
    if rows is None or height is None or 0 in reads.shape or source is output:
        return None
    ours, theirs = output.numel // rows, source.numel // height
    across = [dim for dim, n in enumerate(writes.shape) if n > 1 and writes.strides[dim] >= ours]
    within = [dim for dim in range(len(writes.shape)) if dim not in across]
    loops = [(writes.shape[d], writes.strides[d], reads.strides[d]) for d in across]
    copied = _steps(loops) if loops else _Rows(1, ours, 0)
    if copied is None or copied.stride != ours or copied.taken % theirs:
        return None
    lines = RowPiece(
        replace(_only(reads, within), offset=reads.offset % theirs),
        replace(_only(writes, within), offset=writes.offset % ours),
        writes.offset // ours,
        copied.count,
        reads.offset // theirs,
        copied.taken // theirs,
        copied.repeated,
    )
    is_inside = _is_inside(lines.reads, theirs) and _is_inside(lines.writes, ours)
    starts = copied.repeated == 1 or (lines.first, lines.factor) == (0, 1)
    return lines if is_inside and starts and lines.factor >= 0 else None


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a window: their number, the step of one that is written, and of every so manieth
    one that is read.
    """

    count: int
    stride: int
    taken: int
    repeated: int = 1


def _steps(loops: list[tuple[int, int, int]]) -> _Rows | None:
    """
    Args:
        loops: over rows: iterations, the steps of writing and of reading.
    """
    match sorted(loops, key=lambda loop: -loop[1]):
        case [(count, written, read)]:
            return _Rows(count, written, read)
        case [(outer, far, read), (inner, near, 0)] if far == inner * near:
            return _Rows(outer * inner, near, read, inner)
    return None


def _only(window: Strided, dims: list[int]) -> Strided:
    return replace(
        window,
        shape=tuple(window.shape[dim] for dim in dims),
        strides=tuple(window.strides[dim] for dim in dims),
    )


def _is_inside(window: Strided, size: int) -> bool:
    low, high = window.bounds
    return low >= 0 and high < size
