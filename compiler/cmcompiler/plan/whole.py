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
    images = [t for t in (*node.inputs, *node.outputs) if len(t.shape) == 4]
    flat = {tensor: _flat(tensor) for tensor in images if _is_column(tensor)}
    is_sequence = all(tensor in flat or tensor.shape[:3] == (1, 1, 1) for tensor in images)
    op = node.op.turned if flat and is_sequence else None
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
    return tensor.shape[0] == tensor.shape[2] == 1 < tensor.shape[1]


def _flat(tensor: Tensor) -> Tensor:
    return replace(tensor, shape=turned_shape(tensor.shape))
