"""Contents of planned memory."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cmcompiler.decode.memory import PlannedBuffers
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.tensor import Tensor
from cmcompiler.pte.program import Allocation

SIZE = 24

writes = st.lists(
    st.tuples(st.integers(1, 2), st.integers(0, SIZE - 1), st.integers(1, 8)), max_size=30
)


@given(writes)
def test_holds_what_was_written_last_and_whole(writes: list[tuple[int, int, int]]) -> None:
    """Compared with a memory of single bytes, each naming its tensor."""
    memory = PlannedBuffers()
    cells: dict[tuple[int, int], Tensor] = {}
    for number, (buffer, offset, size) in enumerate(writes):
        tensor = Tensor(f"t{number}", np.dtype(np.int8), (size,))
        operand = Operand(tensor, tensor.shape, (0,))
        overwritten = {held.tensor for held in memory.write(Allocation(buffer, offset), operand)}
        span = [(buffer, byte) for byte in range(offset, offset + size)]
        assert overwritten == whole_ones(cells, span)
        cells = {key: held for key, held in cells.items() if held not in overwritten}
        cells.update(dict.fromkeys(span, tensor))
    for buffer in (1, 2):
        for offset in range(SIZE):
            for size in range(1, 9):
                span = [(buffer, byte) for byte in range(offset, offset + size)]
                listed = {cells.get(key) for key in span}
                holder = listed.pop() if len(listed) == 1 else None
                exact = holder if holder is not None and holder.nbytes == size else None
                held = memory.read(Allocation(buffer, offset), size)
                assert (held and held.tensor) is exact


def whole_ones(cells: dict[tuple[int, int], Tensor], span: list[tuple[int, int]]) -> set[Tensor]:
    return {cells[key] for key in span if key in cells}
