"""Compares every layer of a program with its float graph. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

import numpy as np
import torch

from cmcompiler.errors import CompilerError
from cmcompiler.frontend.fidelity.forced import Array, ForcedRun
from cmcompiler.frontend.fidelity.layer_errors import LayerErrors
from cmcompiler.frontend.fidelity.pairing import pair
from cmcompiler.frontend.fidelity.record import ProgramFidelity
from cmcompiler.frontend.preparation import channels_last
from cmcompiler.frontend.quantized import FloatGraph
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph
from cmcompiler.ir.reference import evaluate
from cmcompiler.pte.methods import find_method
from cmcompiler.pte.reader import read_program

_ELEMENTS = 400_000
"""Of all layers and samples together; at least one sample, so large models take one."""
_MOST = 4
_SEQUENCE = 64
"""Runs of a model with a state."""


def check(
    pte: bytes,
    nodes: Mapping[int, str],
    real: FloatGraph,
    samples: Iterable[Sequence[Array]],
) -> ProgramFidelity:
    """Runs the program's reference and, layer by layer on its values, the float graph.

    Args:
        pte: the program.
        nodes: names given by `mark` by instruction: see Lowered.
        samples: inputs in torch's shapes.
    """
    program = read_program(pte)
    try:
        graph = build_graph(program)
    except CompilerError as error:
        return ProgramFidelity(reason=error.message)
    method = find_method(program, "forward")
    pairing = pair(graph, method, nodes, real.graph)
    errors = {each.node: LayerErrors(each) for each in pairing.pairs}
    run = ForcedRun(real.graph, lambda pair, exact, made: errors[pair.node].add(exact, made))
    count, states, kept = 0, None, real.states
    with torch.no_grad():
        for sample in islice(samples, _number(graph)):
            arrays = [np.ascontiguousarray(array) for array in sample]
            evaluation = evaluate(graph, arrays, {p.tensor for p in pairing.pairs}, states)
            states = evaluation.states
            values = {
                each.node: (each, each.held.to_logical(evaluation.tensors[each.tensor]))
                for each in pairing.pairs
                if each.tensor in evaluation.tensors
            }
            inputs = tuple(channels_last(torch.from_numpy(array)) for array in arrays)
            results = run.run_on((*inputs, *kept), values)
            if kept:
                _, kept = results
            count += 1
    layers = tuple(errors[each.node].layer() for each in pairing.pairs)
    return ProgramFidelity(layers, pairing.unpaired, count)


def _number(graph: Graph) -> int:
    """Samples to run."""
    if graph.states:
        return _SEQUENCE
    elements = sum(tensor.numel for node in graph.nodes for tensor in node.outputs)
    return max(1, min(_MOST, _ELEMENTS // max(1, elements)))
