"""From a typed program to the graph of one of its methods."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.decode.registry import operators
from cmcompiler.decode.scope import Scope
from cmcompiler.errors import InvalidRequest
from cmcompiler.importer.bands import join_bands, keep_bands_in_rows
from cmcompiler.importer.boundary import (
    describe_ports,
    expose_quantized,
    keep_states_as_written,
    quantize_states,
    stored_quantization,
    take_uint8,
)
from cmcompiler.importer.choices import branch_on_choices
from cmcompiler.importer.control import structured
from cmcompiler.importer.copies import join_copies
from cmcompiler.importer.elements import compute_channels_last
from cmcompiler.importer.images import keep_channels_last
from cmcompiler.importer.moves import take_back_moves
from cmcompiler.importer.padding import fold_padding
from cmcompiler.importer.reading import read_block
from cmcompiler.importer.requantization import requantize_in_integers
from cmcompiler.importer.sequences import rows_of_steps
from cmcompiler.importer.state import detached, mutable_buffers
from cmcompiler.importer.unknown import refuse_unknown
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.tensor import Tensor
from cmcompiler.pte.methods import find_method
from cmcompiler.pte.program import Method, Program, TensorValue

IO_CHOICES = ("program", "int8", "uint8", "int16")
"""Ports as in the program, or the quantised tensors behind its boundary quantize/dequantize; with
uint8, inputs of unsigned bytes; with int16, for programs that have such ports.
"""


# A program's scales may be any numbers; what they give is checked, without a line of NumPy's.
@np.errstate(all="ignore")
def build_graph(
    program: Program, method: str = "forward", io: str = "program", *, as_written: bool = False
) -> Graph:
    """The graph of a method, with dim orders resolved, elided views as nodes and no dead nodes.

    Scalar inputs are baked into the program and are not ports. Unless io is "program", ports that
    cannot be exposed as quantised tensors stay float and state why in `Port.note`.

    Args:
        as_written: what each convolution computes is a tensor of the program, to be compared.

    Raises:
        InvalidRequest: no such method, or `io` is not one of IO_CHOICES, or int16 and no port is.
        InvalidProgram: an instruction contradicts its operator's declaration or its tensors.
        Unsupported: names what the static executor cannot run.
    """
    if io not in IO_CHOICES:
        raise InvalidRequest(f"unknown io: {io!r}", f"it is one of: {', '.join(IO_CHOICES)}")
    chosen = find_method(program, method)
    block = structured(chosen)
    refuse_unknown(chosen, operators())
    scope = Scope(chosen)
    for index in mutable_buffers(chosen):
        scope.declare(index)
    inputs = _inputs(chosen, scope)
    nodes = read_block(block, scope)
    outputs = _outputs(chosen, scope, nodes)
    states = [tensor for state in scope.states for tensor in (state.tensor, state.final)]
    results = [port.tensor for port in outputs]
    if not as_written:
        nodes = compute_channels_last(keep_bands_in_rows(nodes), states)
    nodes = keep_channels_last(nodes, results, states)
    nodes = take_back_moves(fold_padding(nodes, results, states), states)
    direct = _without_chained_views(rows_of_steps(nodes), states)
    if not as_written:
        direct = tuple(join_bands(direct, [*results, *states]))
        direct = tuple(join_copies(direct, results, states))
    graph = _without_dead_nodes(Graph(chosen.name, direct, inputs, outputs, tuple(scope.states)))
    graph = _without_dead_nodes(keep_states_as_written(quantize_states(graph)))
    graph = _without_dead_nodes(requantize_in_integers(graph))
    graph = branch_on_choices(graph)
    if io != "program":
        graph = _without_dead_nodes(expose_quantized(graph))
    graph = detached(describe_ports(graph))
    if io == "int16" and all(p.tensor.dtype != np.int16 for p in (*graph.inputs, *graph.outputs)):
        raise InvalidRequest(
            "io int16: no input or output of the program is quantised to int16",
            "int8 takes the others; activations of 16 bits come with --activations int16",
        )
    return take_uint8(graph) if io == "uint8" else graph


def _without_chained_views(nodes: Sequence[Node], fleeting: Collection[Tensor]) -> tuple[Node, ...]:
    """Makes each view of a view of a whole tensor view that tensor, and readers of a view that
    changes nothing read what it views.

    Args:
        fleeting: what has to be read where it is, as its memory is written later.
    """
    behind: dict[Tensor, Tensor] = {}
    same: dict[Tensor, Tensor] = {}
    direct = []
    for each in nodes:
        node = replace(each, inputs=tuple(same.get(tensor, tensor) for tensor in each.inputs))
        if node.op.view_of is not None:
            source = behind.get(node.inputs[0], node.inputs[0])
            output = node.outputs[0]
            if output.nbytes == source.nbytes:
                behind[output] = source
                # Readers of a branch's own tensors are within it.
                is_same = (output.shape, output.dtype) == (source.shape, source.dtype)
                if is_same and not node.guards and source not in fleeting:
                    same[output] = source
            direct.append(replace(node, inputs=(source,)))
        else:
            direct.append(node)
    return tuple(direct)


def _without_dead_nodes(graph: Graph) -> Graph:
    """Keeps what outputs depend on, in this run and, through mutable buffers, in later ones."""
    wanted = {port.tensor for port in graph.outputs}
    while True:
        needed, live = set(wanted), []
        for node in reversed(graph.nodes):
            if not needed.isdisjoint(node.outputs):
                live.append(node)
                needed.update(node.reads)
        states = tuple(state for state in graph.states if state.tensor in needed)
        finals = {state.final for state in states}
        if finals <= wanted:
            return replace(graph, nodes=tuple(reversed(live)), states=states)
        wanted |= finals


def _inputs(method: Method, scope: Scope) -> tuple[Port, ...]:
    ports = []
    for index in method.inputs:
        value = method.values[index]
        if isinstance(value, TensorValue):
            tensor = scope.input(index, value)
            stored = stored_quantization(value)
            ports.append(Port(tensor.name, tensor, value.sizes, value.dim_order, stored))
    return tuple(ports)


def _outputs(method: Method, scope: Scope, nodes: list[Node]) -> tuple[Port, ...]:
    indices = [index for index in method.outputs if method.values[index] is not None]
    names = [f"output_{number}" for number in range(len(indices))]
    # Outputs are read like arguments, since they may be elided views.
    call = Call("return", names, f"method {method.name}", indices, scope)
    ports = []
    for name, index in zip(names, indices, strict=True):
        value = method.values[index]
        if isinstance(value, TensorValue):
            operand = call.tensor(name)
            stored = stored_quantization(value)
            ports.append(Port(name, operand.tensor, operand.shape, operand.dim_order, stored))
        elif isinstance(value, (bool, int, float)):
            ports.append(Port(name, _constant(scope, name, value), (), ()))
        else:
            call.unsupported(f"{name} is neither a tensor nor a number")
    nodes += call.finish()
    return tuple(ports)


def _constant(scope: Scope, name: str, value: float) -> Tensor:
    array = np.array(value)
    return scope.new(name, array.dtype, (), array)
