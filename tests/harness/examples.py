"""Graphs with inputs and their expected outputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.op import Op
from cmcompiler.ir.reference import Evaluation, evaluate
from cmcompiler.ir.tensor import Tensor

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Example:
    """A graph and one sample for it.

    Attributes:
        inputs: one per port, in logical shapes.
        name: for messages; by default its ops.
    """

    graph: Graph
    inputs: tuple[Array, ...]
    name: str = ""

    @cached_property
    def reference(self) -> Evaluation:
        """The reference's results with all channels, including every tensor that a node writes."""
        whole = self.graph.whole
        written = [tensor for node in whole.nodes for tensor in node.outputs]
        return evaluate(whole, self.inputs, keep=written)

    @cached_property
    def arrays(self) -> Mapping[str, Array]:
        """Those tensors by name, with the channels that the graph has."""
        before = self.graph.before
        return {
            tensor.name: before.left(tensor.name, array)
            for tensor, array in self.reference.tensors.items()
        }

    @cached_property
    def keeping_inputs(self) -> Example:
        """The same with its inputs as additional outputs, so that no op may work in place."""
        graph = self.graph
        ports = (*graph.outputs, *graph.inputs)
        if (before := graph.pruning) is not None:
            whole = replace(before.whole, outputs=ports)
            graph = replace(graph, pruning=replace(before, whole=whole))
            return replace(self, graph=replace(graph, outputs=ports))
        kept = replace(self, graph=replace(graph, outputs=ports))
        known = self.reference
        pairs = zip(graph.inputs, self.inputs, strict=True)
        inputs = (port.to_logical(port.to_physical(array)) for port, array in pairs)
        # References of large networks are computed once, not twice.
        kept.__dict__["reference"] = replace(known, outputs=(*known.outputs, *inputs))
        return kept

    @property
    def works_in_place(self) -> bool:
        return any(node.op.in_place for node in self.graph.nodes)

    def __str__(self) -> str:
        return self.name or "; ".join(f"{node.op.title} {node.op}" for node in self.graph.nodes)


def single(op: Op, *inputs: Array, constants: Collection[int] = ()) -> Example:
    """An op with its inputs, in physical shapes.

    Args:
        constants: indices of the inputs that are constants of the graph.
    """
    tensors = [
        Tensor(f"input_{i}", array.dtype, array.shape, array if i in constants else None)
        for i, array in enumerate(inputs)
    ]
    results = [
        Tensor(f"output_{i}", array.dtype, array.shape)
        for i, array in enumerate(op.reference(*inputs))
    ]
    given = [i for i in range(len(inputs)) if i not in constants]
    graph = Graph(
        op.label,
        (Node(op, tuple(tensors), tuple(results), f"{op.label} #0"),),
        tuple(_port(tensors[i]) for i in given),
        tuple(_port(tensor) for tensor in results),
    )
    return Example(graph, tuple(np.array(inputs[i], order="C") for i in given))


def _port(tensor: Tensor) -> Port:
    return Port(tensor.name, tensor, tensor.shape, tuple(range(len(tensor.shape))))
