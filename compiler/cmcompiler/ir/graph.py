"""The graph of a program: nodes that each write tensors once, in physical shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.channels import Mask, channel_count
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
        note: why it stayed float although quantised ports were requested; else empty.
        fed: its rows come from outside one after the other, and memory never holds all of it.
    """

    name: str
    tensor: Tensor
    shape: tuple[int, ...]
    dim_order: tuple[int, ...]
    quantization: Quantization | None = None
    note: str = ""
    fed: bool = False

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
        """Converts a logical array (torch's shape) to the contiguous physical one."""
        return array.transpose(self.dim_order).reshape(self.tensor.shape).copy()

    def to_logical(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The inverse of to_physical."""
        physical = array.reshape([self.shape[axis] for axis in self.dim_order])
        return physical.transpose(np.argsort(self.dim_order)).copy()


@dataclass(frozen=True, slots=True)
class Guard:
    """One of the two ways of a branch.

    Attributes:
        condition: a bool of one element.
        expected: its value if this way is taken.
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
        inputs: activations, in the op's order; weights belong to the op.
        outputs: the tensors it writes.
        source: the program's operator and instruction, for messages: `cortex_m::pad.out #12`.
        guards: what must hold for it to run, outer branches first.
    """

    op: Op
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    source: str
    guards: tuple[Guard, ...] = ()

    @property
    def is_empty(self) -> bool:
        """It writes no elements, so there is nothing to compute."""
        return not any(tensor.numel for tensor in self.outputs)

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """Its inputs, and the conditions that decide whether it runs."""
        return (*self.inputs, *(guard.condition for guard in self.guards))


def with_views(tensors: Iterable[Tensor], nodes: Iterable[Node]) -> set[Tensor]:
    """Tensors, and what nodes show of the same memory.

    Args:
        nodes: in order.
    """
    same = set(tensors)
    for node in nodes:
        if node.op.view_of is not None and node.inputs[0] in same:
            same.update(node.outputs)
    return same


@dataclass(frozen=True, eq=False)
class MutableBuffer:
    """Memory that keeps its contents between runs.

    Attributes:
        tensor: its value at the start of a run.
        final: its value at the end, the output of a Store; `tensor` itself if unchanged.
        initial: its value in the first run and after a reset; in the tensor's shape.
    """

    tensor: Tensor
    final: Tensor
    initial: npt.NDArray[Any] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Pruning:
    """A graph before channels were removed from it.

    Attributes:
        whole: the graph with all channels; it gives the same outputs.
        live: by name of a tensor of that graph, which of its channels are left.
        is_gathered: convolutions read copies of some channels, without those of no weight.
        images: by name of a tensor that holds some columns of an image, that image.
    """

    whole: Graph
    live: Mapping[str, Mask]
    is_gathered: bool = False
    images: Mapping[str, Tensor] = field(default_factory=dict)

    def left(self, name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The channels left of a tensor's array in the whole graph."""
        live = self.live.get(name)
        return array if live is None or live.all() else array[..., live]

    def channels(self, tensor: Tensor) -> int:
        """How many channels a tensor had."""
        live = self.live.get(self._image(tensor).name)
        return channel_count(tensor) if live is None else live.size

    def macs_of(self, node: Node) -> int:
        """A node's multiply-accumulates with all channels."""
        is_same = not self.live and not self.is_gathered
        part = node.outputs[0]
        image = self._image(part)
        before = None if is_same else self._macs.get(image.name)
        return node.op.macs if before is None else before * part.numel // (image.numel or 1)

    def _image(self, tensor: Tensor) -> Tensor:
        return self.images.get(tensor.name, tensor)

    @cached_property
    def _macs(self) -> Mapping[str, int]:
        """Multiply-accumulates of the whole graph's nodes, by the names of their first outputs."""
        return {node.outputs[0].name: node.op.macs for node in self.whole.nodes}


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in execution order. A tensor that no node writes is an input, constant or state.

    The nodes of a branch are contiguous. What they write is read only within the branch; a Merge of
    both ways makes the branch's result.

    After a Store to a state, only what it has written is read from that memory.

    Attributes:
        pruning: where channels were removed.
    """

    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    states: tuple[MutableBuffer, ...] = ()
    pruning: Pruning | None = None

    @property
    def whole(self) -> Graph:
        """The graph with all channels."""
        return self.before.whole

    @property
    def before(self) -> Pruning:
        """How it was before channels were removed, if any were."""
        return self.pruning or Pruning(self, {})

    @cached_property
    def producer(self) -> dict[Tensor, Node]:
        """The node that writes each tensor; inputs and constants have none."""
        return {tensor: node for node in self.nodes for tensor in node.outputs}
