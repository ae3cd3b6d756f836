"""The reference interpreter: runs a graph with the references of its ops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.errors import InvalidRequest
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.tensor import Tensor

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Results of a run.

    Attributes:
        outputs: one per port, in logical shapes.
        states: of each mutable buffer after the run, in physical shapes.
        tensors: those requested by `keep`, in physical shapes; not those of branches not taken.
    """

    outputs: tuple[Array, ...]
    states: tuple[Array, ...]
    tensors: Mapping[Tensor, Array]


def evaluate_all(
    graph: Graph, samples: Iterable[Sequence[Array]], reset: bool = False
) -> Iterator[Evaluation]:
    """Runs a graph on one sample after the other.

    Args:
        reset: resets mutable buffers before every sample, not only the first.

    Raises:
        InvalidRequest: a sample that does not fit the ports, or that the model would refuse.
    """
    states = None
    for count, inputs in enumerate(samples, start=1):
        evaluation = evaluate(graph, inputs, states=states, sample=count)
        states = None if reset else evaluation.states
        yield evaluation


def evaluate(
    graph: Graph,
    inputs: Sequence[Array],
    keep: Collection[Tensor] | None = None,
    states: Sequence[Array] | None = None,
    sample: int | None = None,
) -> Evaluation:
    """Runs a graph on one sample.

    Args:
        inputs: one per port, in logical shapes (torch's `x.shape`).
        keep: tensors to return as well; others are freed after their last use.
        states: of the mutable buffers after the previous run; None after a reset.
        sample: the number of the sample, to refuse what the model would refuse, such as a token
            outside of its table; None computes what kernels make of it.

    Raises:
        InvalidRequest: the inputs do not fit the ports, or are refused.
    """
    check_inputs(graph.inputs, inputs)
    kept = frozenset(keep or ())
    needs = Counter(tensor for node in graph.nodes for tensor in node.reads)
    needs.update(port.tensor for port in graph.outputs)
    needs.update(state.final for state in graph.states)
    arrays = {
        port.tensor: port.to_physical(array)
        for port, array in zip(graph.inputs, inputs, strict=True)
    }
    before = [state.initial for state in graph.states] if states is None else states
    arrays.update(zip((state.tensor for state in graph.states), before, strict=True))

    skipped: set[Tensor] = set()

    def value(tensor: Tensor) -> Array:
        if tensor in skipped:
            return np.broadcast_to(tensor.dtype.type(0), tensor.shape)
        return arrays[tensor] if tensor.data is None else tensor.data

    for node in graph.nodes:
        if all(bool(value(guard.condition)) is guard.expected for guard in node.guards):
            if sample is not None and not node.is_empty:
                _check(node, sample, map(value, node.inputs))
            arrays.update(zip(node.outputs, _results(node, map(value, node.inputs)), strict=True))
        else:
            skipped.update(node.outputs)
        needs.subtract(node.reads)
        for tensor in (*node.reads, *node.outputs):
            if not needs[tensor] and tensor not in kept:
                arrays.pop(tensor, None)
    outputs = tuple(port.to_logical(value(port.tensor)) for port in graph.outputs)
    finals = tuple(value(state.final) for state in graph.states)
    return Evaluation(outputs, finals, {tensor: value(tensor) for tensor in kept - skipped})


def _check(node: Node, sample: int, inputs: Iterable[Array]) -> None:
    reason = node.op.refusal(*inputs)
    if reason is not None:
        raise InvalidRequest(
            f"sample {sample}: {reason}, at {node.source}",
            "give indices inside: a device cannot refuse others, and takes the nearest one",
        )


def check_inputs(ports: Sequence[Port], inputs: Sequence[Array]) -> None:
    """Raises InvalidRequest, naming the first input that has the wrong shape or dtype."""
    if len(inputs) != len(ports):
        wanted = ", ".join(map(_describe, ports))
        raise InvalidRequest(
            f"{len(inputs)} inputs were given, the model takes {len(ports)}", wanted
        )
    for port, array in zip(ports, inputs, strict=True):
        if array.shape != port.shape or array.dtype != port.tensor.dtype:
            given = f"{array.dtype.name}[{', '.join(map(str, array.shape))}]"
            raise InvalidRequest(f"{port.name} is {given}, the model takes {_describe(port)}")


def _describe(port: Port) -> str:
    return f"{port.tensor.dtype.name}[{', '.join(map(str, port.shape))}]"


def _results(node: Node, inputs: Iterable[Array]) -> Sequence[Array]:
    if node.is_empty:
        return [np.zeros(tensor.shape, tensor.dtype) for tensor in node.outputs]
    # Infinities and NaN are results like others; NumPy would print a warning for each.
    with np.errstate(all="ignore"):
        results = node.op.reference(*inputs)
    for tensor, array in zip(node.outputs, results, strict=True):
        if array.shape != tensor.shape or array.dtype != tensor.dtype:
            raise ValueError(
                f"the reference of {node.source} ({node.op.title}) gave "
                f"{array.dtype}{list(array.shape)} for {tensor.dtype}{list(tensor.shape)}"
            )
    return results
