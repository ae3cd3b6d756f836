"""Quantisation at the ports and states of a graph, and int8 ones in place of float ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.graph import Graph, MutableBuffer, Node, Port
from cmcompiler.ir.movement.store import Store
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.op import Op
from cmcompiler.ir.quantization import Quantization
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.activation import Activation
from cmcompiler.ops.dequantize import Dequantize
from cmcompiler.ops.quantize import Quantize
from cmcompiler.pte.program import TensorValue

# An int8 that holds the bits of an unsigned byte less 128.
_TURN = (np.arange(-128, 128) & 255) - 128
_FROM_UINT8 = Activation(_TURN.astype(np.int8).tobytes(), name="from uint8")


def describe_ports(graph: Graph) -> Graph:
    """Adds to each float port the quantisation of the quantize or dequantize next to it."""
    quantizers, dequantizers = _quantizers(graph), _dequantizers(graph)
    inputs = []
    for port in graph.inputs:
        quantize = quantizers.get(port.tensor)
        quantization = _of_quantize(quantize) if isinstance(quantize, Quantize) else None
        inputs.append(replace(port, quantization=port.quantization or quantization))
    outputs = []
    for port in graph.outputs:
        node = dequantizers.get(port.tensor)
        quantization = None if node is None else _of_dequantize(node)
        outputs.append(replace(port, quantization=port.quantization or quantization))
    return replace(graph, inputs=tuple(inputs), outputs=tuple(outputs))


def stored_quantization(value: TensorValue) -> Quantization | None:
    """The quantisation that a file has for a tensor of integers as a whole."""
    stored = value.quantization
    if stored is None or len(stored.scales) != 1 or value.dtype.kind not in "iu":
        return None
    limits = np.iinfo(value.dtype)
    return Quantization(stored.scales[0], stored.zero_points[0], int(limits.min), int(limits.max))


def expose_quantized(graph: Graph) -> Graph:
    """Makes quantised tensors the ports if only quantize or dequantize touches a port.

    An input is exposed if all its readers quantize it with the same parameters; an output, if it is
    dequantized. Movements of memory in between use the quantised type. Ports that stay float state
    why in their note. Nodes no longer needed stay in the graph.
    """
    return _expose_outputs(_expose_inputs(graph))


def quantize_states(graph: Graph) -> Graph:
    """Keeps the quantised numbers of mutable buffers that are written and read as such.

    Nodes no longer needed stay in the graph.
    """
    quantizers, dequantizers = _quantizers(graph), _dequantizers(graph)
    read = {tensor for node in graph.nodes for tensor in node.reads}
    read.update(port.tensor for port in graph.outputs)
    kept: dict[MutableBuffer, tuple[Quantize, Tensor]] = {}
    for state in graph.states:
        quantize, store = quantizers.get(state.tensor), graph.producer.get(state.final)
        if not isinstance(quantize, Quantize) or store is None or state.final in read:
            continue
        dequantize = dequantizers.get(store.inputs[-1])
        if isinstance(store.op, Store) and dequantize is not None and _undoes(quantize, dequantize):
            kept[state] = quantize, store.inputs[-1]
    before = [Port("", state.tensor, (), ()) for state in kept]
    after = [Port("", source, (), ()) for _, source in kept.values()]
    exposed = _expose_inputs(replace(graph, inputs=tuple(before)))
    sources = _expose_outputs(replace(exposed, outputs=tuple(after)))
    nodes, states = list(sources.nodes), list(graph.states)
    for state, held, source in zip(kept, exposed.inputs, sources.outputs, strict=True):
        final = Tensor(state.final.name, held.tensor.dtype, state.final.shape)
        index = next(i for i, node in enumerate(nodes) if node.outputs[0] is state.final)
        inputs = held.tensor, source.tensor
        nodes[index] = replace(nodes[index], inputs=inputs, outputs=(final,))
        (initial,) = kept[state][0].reference(state.initial)
        states[states.index(state)] = MutableBuffer(held.tensor, final, initial)
    return replace(graph, nodes=tuple(nodes), outputs=exposed.outputs, states=tuple(states))


def keep_states_as_written(graph: Graph) -> Graph:
    """Keeps dequantised numbers that are written to mutable buffers as they are before that.

    What reads the buffers reads them dequantised. Nodes no longer needed stay in the graph.
    """
    dequantizers = _dequantizers(graph)
    read = {tensor for node in graph.nodes for tensor in node.reads}
    read.update(port.tensor for port in graph.outputs)
    stores: dict[MutableBuffer, tuple[Node, Tensor]] = {}
    for state in graph.states:
        store = graph.producer.get(state.final)
        if store is None or not isinstance(store.op, Store) or state.final in read:
            continue
        if store.inputs[-1] in dequantizers:
            stores[state] = store, store.inputs[-1]
    ports = tuple(Port("", source, (), ()) for _, source in stores.values())
    exposed = _expose_outputs(replace(graph, outputs=ports))
    nodes, states = list(exposed.nodes), list(graph.states)
    for (state, (store, source)), port in zip(stores.items(), exposed.outputs, strict=True):
        dequantize = dequantizers[source].op
        assert isinstance(dequantize, Dequantize)
        initial = _quantized(state.initial, dequantize, port.tensor.dtype)
        if initial is None:
            continue
        held, final = (
            Tensor(tensor.name, port.tensor.dtype, tensor.shape)
            for tensor in (state.tensor, state.final)
        )
        inputs = held, port.tensor
        nodes[nodes.index(store)] = replace(store, inputs=inputs, outputs=(final,))
        nodes.insert(0, Node(dequantize, (held,), (state.tensor,), store.source))
        states[states.index(state)] = MutableBuffer(held, final, initial)
    return replace(graph, nodes=tuple(nodes), states=tuple(states))


def _quantized(
    reals: npt.NDArray[Any], dequantize: Dequantize, dtype: np.dtype[Any]
) -> npt.NDArray[Any] | None:
    """The numbers that are dequantised to these; None if there are none."""
    limits = np.iinfo(dtype)
    with np.errstate(all="ignore"):
        steps = np.rint(reals / np.float32(dequantize.scale)) + dequantize.zero_point
        numbers = np.clip(steps, limits.min, limits.max).astype(dtype)
        is_exact = np.array_equal(dequantize.reference(numbers)[0], reals)
    return numbers if is_exact else None


def take_uint8(graph: Graph) -> Graph:
    """Makes int8 inputs uint8, as cameras have them: their numbers plus 128; a table converts."""
    inputs, nodes = [], []
    for port in graph.inputs:
        if port.tensor.dtype != np.int8 or any(port.tensor is o.tensor for o in graph.outputs):
            inputs.append(port)
            continue
        tensor = Tensor(f"{port.tensor.name}.uint8", np.dtype(np.uint8), port.tensor.shape)
        nodes.append(Node(_FROM_UINT8, (tensor,), (port.tensor,), port.name))
        q = port.quantization
        if q is not None:
            q = Quantization(q.scale, q.zero_point + 128, q.minimum + 128, q.maximum + 128)
        inputs.append(replace(port, tensor=tensor, quantization=q))
    return replace(graph, inputs=tuple(inputs), nodes=(*nodes, *graph.nodes))


def _expose_inputs(graph: Graph) -> Graph:
    quantizers = _quantizers(graph)
    replaced: dict[Tensor, Tensor] = {}
    inputs = []
    for port in graph.inputs:
        quantize = quantizers.get(port.tensor, "nothing reads it")
        if isinstance(quantize, Quantize):
            tensor = Tensor(port.tensor.name, quantize.dtype, port.tensor.shape)
            replaced[port.tensor] = tensor
            inputs.append(replace(port, tensor=tensor, quantization=_of_quantize(quantize)))
        else:
            inputs.append(_note(port, quantize))
    nodes = []
    for node in graph.nodes:
        if isinstance(node.op, Quantize) and node.inputs[0] in replaced:
            replaced[node.outputs[0]] = replaced[node.inputs[0]]
            continue
        if is_movement(node.op) and node.inputs[0] in replaced:
            made = moved(node, replaced[node.inputs[0]])
            replaced[node.outputs[0]] = made.outputs[0]
            nodes.append(made)
            continue
        sources = tuple(replaced.get(tensor, tensor) for tensor in node.inputs)
        nodes.append(replace(node, inputs=sources))
    outputs = tuple(
        replace(port, tensor=replaced.get(port.tensor, port.tensor)) for port in graph.outputs
    )
    return replace(graph, nodes=tuple(nodes), inputs=tuple(inputs), outputs=outputs)


def _expose_outputs(graph: Graph) -> Graph:
    dequantizers = _dequantizers(graph)
    quantized: dict[Tensor, Tensor] = {}
    nodes = []
    for node in graph.nodes:
        nodes.append(node)
        if isinstance(node.op, Dequantize):
            quantized[node.outputs[0]] = node.inputs[0]
        elif node.outputs[0] in dequantizers:
            nodes.append(moved(node, quantized[node.inputs[0]]))
            quantized[node.outputs[0]] = nodes[-1].outputs[0]
    outputs = []
    for port in graph.outputs:
        if port.tensor in quantized:
            described = _of_dequantize(dequantizers[port.tensor])
            exposed = quantized[port.tensor]
            outputs.append(replace(port, tensor=exposed, quantization=described))
        else:
            outputs.append(_note(port, "no dequantize writes it"))
    return replace(graph, nodes=tuple(nodes), outputs=tuple(outputs))


def _quantizers(graph: Graph) -> dict[Tensor, Quantize | str]:
    """The quantize that all readers of a tensor share, ignoring movements; or why there is none."""
    uses: dict[Tensor, Quantize | str] = {
        guard.condition: f"{guard.source} reads it" for node in graph.nodes for guard in node.guards
    }
    uses.update((port.tensor, f"it is {port.name} too") for port in graph.outputs)
    for node in reversed(graph.nodes):
        use: Quantize | str = f"{node.source} reads it"
        # A Store does not read what it overwrites.
        inputs = node.inputs[1:] if isinstance(node.op, Store) else node.inputs
        if isinstance(node.op, Quantize):
            use = node.op
        elif is_movement(node.op):
            use = uses[node.outputs[0]]
        for tensor in inputs:
            if uses.setdefault(tensor, use) != use and not isinstance(uses[tensor], str):
                uses[tensor] = use if isinstance(use, str) else "it is quantized in several ways"
    return uses


def _dequantizers(graph: Graph) -> dict[Tensor, Node]:
    """The dequantize that produces a tensor, ignoring movements."""
    makers: dict[Tensor, Node] = {}
    for node in graph.nodes:
        if isinstance(node.op, Dequantize):
            makers[node.outputs[0]] = node
        elif is_movement(node.op) and node.inputs[0] in makers:
            makers[node.outputs[0]] = makers[node.inputs[0]]
    return makers


def _undoes(quantize: Quantize, dequantize: Node) -> bool:
    """Whether one gives the very numbers that the other was given."""
    assert isinstance(dequantize.op, Dequantize)
    return (
        quantize.dtype == dequantize.inputs[0].dtype
        and quantize.scale == dequantize.op.scale
        and quantize.zero_point == dequantize.op.zero_point
    )


def is_movement(op: Op) -> bool:
    """Whether an op can be swapped with a quantize or dequantize."""
    return isinstance(op, (View, Transpose))


def moved(node: Node, source: Tensor) -> Node:
    """The movement applied to another tensor of the same shape."""
    before = node.outputs[0]
    after = Tensor(f"{before.name}.{source.dtype.name}", source.dtype, before.shape)
    return replace(node, inputs=(source,), outputs=(after,))


def _note(port: Port, reason: str) -> Port:
    return replace(port, note=reason) if port.tensor.dtype.kind == "f" else port


def _of_quantize(op: Quantize) -> Quantization:
    return Quantization(op.scale, op.zero_point, op.minimum, op.maximum)


def _of_dequantize(node: Node) -> Quantization:
    assert isinstance(node.op, Dequantize)
    limits = np.iinfo(node.inputs[0].dtype)
    return Quantization(node.op.scale, node.op.zero_point, int(limits.min), int(limits.max))
