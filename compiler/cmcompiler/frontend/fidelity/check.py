"""Compares every layer of a program with its float graph. Importing it imports torch."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.fx import Node
from torch.utils._pytree import tree_leaves

from cmcompiler.errors import CompilerError
from cmcompiler.frontend.fidelity.decisions import Decisions
from cmcompiler.frontend.fidelity.forced import ForcedRun, MadeValue
from cmcompiler.frontend.fidelity.layer_errors import LayerErrors
from cmcompiler.frontend.fidelity.pairing import Pairing, ValuePair, pair
from cmcompiler.frontend.fidelity.record import LayerError, ProgramFidelity, StalledState
from cmcompiler.frontend.fidelity.resolution import ResolutionRun
from cmcompiler.frontend.fidelity.rewriting import rewriting_error
from cmcompiler.frontend.fidelity.values import Array
from cmcompiler.frontend.layouts import channels_last
from cmcompiler.frontend.lowering import Lowered
from cmcompiler.frontend.quantized import FloatGraph
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph
from cmcompiler.ir.graph import Node as ProgramNode
from cmcompiler.ir.reference import evaluate
from cmcompiler.ir.tensor import Tensor as ProgramTensor
from cmcompiler.ops.attention import Attention, Weighing
from cmcompiler.ops.support.recurrence import Recurrence, Turns
from cmcompiler.pte.methods import find_method
from cmcompiler.pte.reader import read_program

_log = logging.getLogger(__name__)

_ELEMENTS = 400_000
"""Limit for all layers and samples together; at least one sample, so large models take one."""
_MOST = 4
_MOST_DECIDING = 16
"""Samples of a model with decisions, few of which rounding changes."""
_TURN = 16
"""Elements of gates, functions of them and states that a turn has for each of its outputs."""
_SEQUENCE = 64
"""Runs of a model with a state."""

_STALLED = 0.5
_FEWEST_STEPS = 2.0
"""Steps that a stalled state is off on average; roundings alone add up to less."""


def fidelity_of(
    lowered: Lowered,
    real: FloatGraph,
    samples: Iterable[Sequence[Array]],
    outputs: Sequence[Array] | None = None,
) -> ProgramFidelity:
    """As `check`; what cannot be compared, for whatever reason, is not a failure."""
    try:
        return check(lowered.program, lowered.nodes, real, samples, outputs)
    except Exception as error:  # users' own operators raise anything
        _log.warning("layers not compared", exc_info=True)
        reason = str(error).strip().partition("\n")[0]
        return ProgramFidelity(reason=f"{type(error).__name__}: {reason}")


def check(
    pte: bytes,
    nodes: Mapping[int, str],
    real: FloatGraph,
    samples: Iterable[Sequence[Array]],
    outputs: Sequence[Array] | None = None,
) -> ProgramFidelity:
    """Runs the program's reference and, layer by layer on its values, the float graph.

    Args:
        pte: the program.
        nodes: names given by `mark` by instruction: see Lowered.
        samples: inputs in torch's shapes.
        outputs: of the user's module on the samples, if its rewritten graph is to be compared.
    """
    program = read_program(pte)
    try:
        graph = build_graph(program, as_written=True)
    except CompilerError as error:
        return ProgramFidelity(reason=error.message)
    pairing = pair(graph, find_method(program, "forward"), nodes, real.graph)
    decisions = Decisions(real.graph)
    comparison = LayerComparison(graph, pairing, real, decisions.watched)
    taken = [
        tuple(np.array(array, order="C") for array in sample)
        for sample in islice(samples, _number(graph, _MOST_DECIDING if decisions else _MOST))
    ]
    arranged = [
        tuple(channels_last(torch.from_numpy(array)) for array in sample) for sample in taken
    ]
    resolution, kept = ResolutionRun(real.graph), real.states
    with torch.no_grad():
        for arrays, inputs in zip(taken, arranged, strict=True):
            made = comparison.add(arrays, inputs)
            results = resolution.run_on((*inputs, *kept))
            decisions.add(resolution.exact, made)
            kept = results[1] if kept else kept
    layers = comparison.layers()
    if not all(layer.faithful for layer in layers):
        finer = LayerComparison(graph, pairing, real, is_double=True)
        layers = comparison.layers(_errors(finer, zip(taken, arranged, strict=True)))
    rewritten = None
    if outputs is not None and real.rewritten is not None:
        known = arranged[: min(map(len, outputs), default=0)]
        rewritten = rewriting_error(real.rewritten, real.states, known, outputs)
    return ProgramFidelity(
        layers=tuple(layers),
        unpaired=pairing.unpaired,
        samples=len(taken),
        resolutions=tuple(sorted(resolution.layers(), key=lambda layer: layer.snr_db)),
        stalled=tuple(comparison.stalled()),
        rewritten=rewritten,
        flipped=tuple(sorted(decisions.flipped(), key=lambda each: -each.share)),
    )


def _errors(
    comparison: LayerComparison, runs: Iterable[tuple[Sequence[Array], tuple[Tensor, ...]]]
) -> list[LayerError]:
    """Errors in double precision; none where operators do not know it."""
    try:
        with torch.no_grad():
            for arrays, inputs in runs:
                comparison.add(arrays, inputs)
    except Exception:  # users' own operators raise anything
        _log.info("not compared in double precision", exc_info=True)
        return []
    return comparison.errors()


def _number(graph: Graph, most: int) -> int:
    """Samples to run.

    Args:
        most: of a model without a state.
    """
    if graph.states:
        return _SEQUENCE
    elements = sum(_elements(node) for node in graph.nodes)
    return max(1, min(most, _ELEMENTS // max(1, elements)))


def _elements(node: ProgramNode) -> int:
    """Count the elements of a node's results, or of a recurrent layer in all its turns."""
    results = sum(tensor.numel for tensor in node.outputs)
    return results * _TURN if isinstance(node.op, Recurrence) else results


class LayerComparison:
    """A program beside its float graph, one run after the other.

    Args:
        graph: of the program.
        watched: nodes of the float graph whose values in the program are wanted.
        is_double: the float graph computes in double precision.
    """

    def __init__(
        self,
        graph: Graph,
        pairing: Pairing,
        real: FloatGraph,
        watched: Collection[Node] = (),
        *,
        is_double: bool = False,
    ) -> None:
        self._graph = graph
        self._pairs = pairing.pairs
        self._wanted = {each.tensor for each in pairing.pairs}
        self._divided = _divided(graph, pairing)
        self._wanted.update(each for node in self._divided.values() for each in node.inputs)
        self._errors = {each.node: {"": LayerErrors(each)} for each in pairing.pairs}
        self._inputs = [LayerErrors(each) for each in pairing.inputs]
        self._wanted.update(each.tensor for each in pairing.inputs)
        self._outputs = {each.held.index: LayerErrors(each) for each in pairing.outputs}
        self._run = ForcedRun(real.graph, self._report, watched, is_double=is_double)
        self._sources = _sources_of_states(real)
        self._held: tuple[Tensor, ...] = real.states
        self._states: Sequence[Array] | None = None

    def add(self, arrays: Sequence[Array], inputs: tuple[Tensor, ...]) -> Mapping[Node, Any]:
        """
        Args:
            arrays: inputs of the program.
            inputs: the same for the float graph.

        Returns: the program's values of the watched nodes.
        """
        evaluation = evaluate(self._graph, arrays, self._wanted, self._states)
        self._states = evaluation.states
        tensors = evaluation.tensors
        values = {
            each.node: MadeValue(
                each, each.held.to_logical(tensors[each.tensor]), self._parts(each, tensors)
            )
            for each in self._pairs
            if each.tensor in tensors
        }
        quantized = {}
        for errors in self._inputs:
            held = errors.pair.held
            made = held.to_logical(tensors[errors.pair.tensor])
            errors.add(torch.from_numpy(arrays[held.index]), made)
            quantized[errors.pair.node] = MadeValue(errors.pair, made)
        results = self._run.run_on((*inputs, *self._held), values, quantized)
        if self._held:
            results, self._held = results
        leaves = [leaf for leaf in tree_leaves(results) if leaf is not None]
        for index, errors in self._outputs.items():
            leaf = torch.as_tensor(leaves[index])
            if leaf.shape == evaluation.outputs[index].shape:
                errors.add(leaf, evaluation.outputs[index])
        return self._run.seen

    def _parts(
        self, pair: ValuePair, tensors: Mapping[ProgramTensor, Array]
    ) -> Turns | Weighing | None:
        """The values that a pair's layer makes on the way to its outputs."""
        node = self._divided.get(pair.tensor)
        if node is None:
            return None
        inputs = [tensors[each] for each in node.inputs]
        if isinstance(node.op, Attention):
            return node.op.weigh(inputs, tensors[pair.tensor])
        assert isinstance(node.op, Recurrence)
        return node.op.turns(inputs, tensors[pair.tensor])

    def _report(self, pair: ValuePair, exact: Tensor, made: Array, step: Tensor | None) -> None:
        number = self._sources.get(pair.node)
        before = None if number is None or pair.part else self._held[number]
        parts = self._errors[pair.node]
        errors = parts.setdefault(pair.part, LayerErrors(pair))
        errors.add(exact, made, before, step)

    def errors(self) -> list[LayerError]:
        """Errors of the program's layers, then of its inputs and outputs."""
        layers = []
        for each in self._pairs:
            whole, *parts = (errors.layer() for errors in self._errors[each.node].values())
            layers.append(whole.worst(parts))
        return layers + [each.layer() for each in (*self._inputs, *self._outputs.values())]

    def layers(self, finer: Sequence[LayerError] = ()) -> list[LayerError]:
        """The program's layers; besides, inputs that are not rounded as their range says, and
        outputs that are not what the last layers hold.

        Args:
            finer: errors beside the float graph in double precision. Where numbers of any size
                cancel out, sums in single precision are off by more than a bound has room for.
        """
        errors = self.errors()
        if finer:
            pairs = zip(errors, finer, strict=True)
            errors = [min(pair, key=lambda error: error.used) for pair in pairs]
        count = len(self._pairs)
        return errors[:count] + [port for port in errors[count:] if not port.faithful]

    def stalled(self) -> Iterator[StalledState]:
        for parts in self._errors.values():
            errors = parts[""]
            share, steps = errors.drift
            if share > _STALLED and steps > _FEWEST_STEPS:
                yield StalledState(errors.pair.name, share)


def _divided(graph: Graph, pairing: Pairing) -> dict[ProgramTensor, ProgramNode]:
    """The layers of the graph that are compared part by part, by their outputs."""
    layers = {}
    for each in pairing.pairs:
        node = graph.producer.get(each.tensor)
        if each.by_part and node is not None and node.outputs[0] is each.tensor:
            layers[each.tensor] = node
    return layers


def _sources_of_states(real: FloatGraph) -> dict[Node, int]:
    """The node that computes the new value of each state, and the state's index."""
    numbers = {}
    if real.states:
        output = next(node for node in real.graph.graph.nodes if node.op == "output")
        leaves = tree_leaves(output.args[0])
        for number, node in enumerate(leaves[-len(real.states) :]):
            source = node
            while source.op == "call_module":
                source = source.args[0]
            numbers[source] = number
    return numbers
