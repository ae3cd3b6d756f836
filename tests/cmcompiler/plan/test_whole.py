"""Sequences with steps as rows are computed as rows of pixels."""

from __future__ import annotations

from harness.sequences import sequence_graph

from cmcompiler.importer.sequences import rows_of_steps
from cmcompiler.ir.op import Address, KernelCall, RingRows
from cmcompiler.isa import Isa
from cmcompiler.plan.whole import whole_calls


def numbers(call: KernelCall) -> list[object]:
    """Its arguments but for names of tensors, whose rows are all in memory."""

    def plain(word: object) -> object:
        if isinstance(word, Address):
            return word.offset, word.tensor.nbytes
        return word.tensor.shape[1] if isinstance(word, RingRows) else word

    return [call.kernel, call.rows, *((name, plain(word)) for name, word in call.arguments)]


def test_a_column_is_computed_as_a_row() -> None:
    graph = sequence_graph()
    columns = [node for node in rows_of_steps(graph.nodes) if node.op.view_of is None]
    for isa in Isa:
        for column, row in zip(columns, graph.nodes, strict=True):
            actual = [numbers(call) for call in whole_calls(column, isa)]
            assert actual == [numbers(call) for call in whole_calls(row, isa)]
            placed = {
                word.tensor
                for call in whole_calls(column, isa)
                for _, word in call.arguments
                if isinstance(word, Address)
            }
            assert placed <= {*column.inputs, *column.outputs}
