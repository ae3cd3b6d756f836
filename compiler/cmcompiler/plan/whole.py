"""The kernel calls that compute a node as a whole."""

from __future__ import annotations

from dataclasses import replace

from cmcompiler.ir.graph import Node
from cmcompiler.ir.op import Address, KernelCall, RingRows, Word
from cmcompiler.ir.rows import turned_shape
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa


def whole_calls(node: Node, isa: Isa) -> tuple[KernelCall, ...]:
    """A sequence is computed as one row of pixels, whose windows lie in one piece in memory."""
    flat = {t: _flat(t) for t in (*node.inputs, *node.outputs) if _is_column(t)}
    op = node.op.turned if flat else None
    if op is None:
        return tuple(node.op.kernel_calls(node.inputs, node.outputs, isa))
    real = {row: column for column, row in flat.items()}
    inputs, outputs = (
        tuple(flat.get(tensor, tensor) for tensor in each) for each in (node.inputs, node.outputs)
    )

    def placed(word: Word) -> Word:
        if isinstance(word, Address):
            return Address(real.get(word.tensor, word.tensor), word.offset)
        return 1 if isinstance(word, RingRows) and word.tensor in real else word

    return tuple(
        replace(call, arguments=[(name, placed(word)) for name, word in call.arguments])
        for call in op.kernel_calls(inputs, outputs, isa)
    )


def _is_column(tensor: Tensor) -> bool:
    return len(tensor.shape) == 4 and tensor.shape[0] == tensor.shape[2] == 1 < tensor.shape[1]


def _flat(tensor: Tensor) -> Tensor:
    return replace(tensor, shape=turned_shape(tensor.shape))
