"""The graph a program becomes: nodes that each write tensors once, in physical shapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.op import Op
from cmcompiler.ir.quantization import Quantization
from cmcompiler.ir.tensor import Tensor, same_order


@dataclass(frozen=True)
class Port:
    """An input or output of a graph, as its user sees it.

    Attributes:
        name: `input_0`, `output_0`, …
        tensor: the tensor that is read or written, in its physical shape.
        shape: logical shape, torch's `x.shape`.
        dim_order: the logical dimension that each physical one holds, outermost first.
        quantization: of the tensor, or of the quantize/dequantize next to a float one.
        note: why it stayed float though quantised ports were asked for; else empty.
    """

    name: str
    tensor: Tensor
    shape: tuple[int, ...]
    dim_order: tuple[int, ...]
    quantization: Quantization | None = None
    note: str = ""

    @property
    def layout(self) -> str:
        """`channels-last`, `contiguous`, or the dim order itself."""
        rank = len(self.shape)
        if same_order(self.shape, self.dim_order, range(rank)):
            return "contiguous"
        if rank in (4, 5) and same_order(self.shape, self.dim_order, (0, *range(2, rank), 1)):
            return "channels-last"
        return "dim order " + ",".join(map(str, self.dim_order))

    def to_physical(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A logical array (torch's shape) as the contiguous physical one."""
        return array.transpose(self.dim_order).reshape(self.tensor.shape).copy()

    def to_logical(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The inverse of to_physical."""
        physical = array.reshape([self.shape[axis] for axis in self.dim_order])
        return physical.transpose(np.argsort(self.dim_order)).copy()


@dataclass(frozen=True, slots=True)
class Guard:
    """One of the two ways that a branch can go.

    Attributes:
        condition: a bool of one element.
        expected: what it must be.
        source: the program's instruction, for messages: `JumpFalseCall #5`.
    """

    condition: Tensor
    expected: bool
    source: str


@dataclass(frozen=True, eq=False)
class Node:
    """One op applied to tensors.

    Attributes:
        op: what is computed, with all parameters.
        inputs: activations, in the op's order. Weights belong to the op itself.
        outputs: the tensors it writes.
        source: the program's operator and instruction, for messages: `cortex_m::pad.out #12`.
        guards: what must hold for it to run, those of outer branches first.
    """

    op: Op
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    source: str
    guards: tuple[Guard, ...] = ()

    @property
    def is_empty(self) -> bool:
        """It writes not a single element, so that there is nothing to compute."""
        return not any(tensor.numel for tensor in self.outputs)

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """Its inputs, and the conditions that decide whether it runs."""
        return (*self.inputs, *(guard.condition for guard in self.guards))


@dataclass(frozen=True, eq=False)
class MutableBuffer:
    """A mutable buffer: memory that keeps its content from one run to the next.

    Attributes:
        tensor: what a run finds in it.
        final: what it leaves there, the output of a Store; `tensor` itself if it changes nothing.
        initial: what the first run finds, and the next one after a reset; in the tensor's shape.
    """

    tensor: Tensor
    final: Tensor
    initial: npt.NDArray[Any] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in execution order. A tensor that no node writes is an input, constant or state.

    The nodes of a branch lie together. What they write is read within the branch only; the value
    that a branch results in is what a Merge makes of both ways.

    After a Store to a state, nothing that lies in the same memory is read but what it has written.
    """

    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    states: tuple[MutableBuffer, ...] = ()

    @cached_property
    def producer(self) -> dict[Tensor, Node]:
        """The node that writes each tensor; inputs and constants have none."""
        return {tensor: node for node in self.nodes for tensor in node.outputs}
