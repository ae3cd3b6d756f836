"""Ranges of the 16-bit states inside recurrent layers. Importing it imports torch.

Calibration tells them. A step is a power of two, as kernels want it, and no tensor of the graph
holds all the states that a layer goes through, so that the quantizer could not observe them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import FixedQParamsObserver

from cmcompiler.frontend.backend import is_moved
from cmcompiler.frontend.meters import insert_meter, remove_meters
from cmcompiler.frontend.operators.recurrent import ops as cmbuild
from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.rewrites.fixed_ranges import JOINS, MOVEMENTS
from cmcompiler.ops.gru import STATE_BITS
from cmcompiler.ops.lstm import CELL_BITS
from cmcompiler.ops.support.gates import UNIT_BITS

_LSTM = {
    *(cmbuild.lstm.default, cmbuild.lstm_state.default),
    *(cmbuild.short_lstm.default, cmbuild.short_lstm_state.default),
    *(cmbuild.fine_lstm.default, cmbuild.fine_lstm_state.default),
}
_GRU = {
    *(cmbuild.gru.default, cmbuild.gru_state.default),
    *(cmbuild.short_gru.default, cmbuild.short_gru_state.default),
    *(cmbuild.fine_gru.default, cmbuild.fine_gru_state.default),
}

_LAYERS = _LSTM | _GRU

_PASSING = {getitem, cmbuild.cat_states.default, *MOVEMENTS, *JOINS}
"""Operators that states of one scale go through."""

_BITS = -4
"""Position of the state's fractional bits among the arguments of a layer."""


class StateMeter(torch.nn.Module):
    """Keeps the largest magnitude of a layer's state.

    Called with the results of the layer and its arguments.
    """

    def __init__(self, name: str, operator: Any) -> None:
        super().__init__()
        self.name = name
        self.largest = 0.0
        self._is_lstm = operator in _LSTM

    def forward(self, results: Any, *layer: Any) -> None:
        rows = results[0] if isinstance(results, tuple) else results
        states = _cells(rows, *layer) if self._is_lstm else [layer[1]]
        self.largest = max([self.largest, *(float(x.abs().max()) for x in states)])


def watch_states(prepared: GraphModule) -> tuple[StateMeter, ...]:
    """Meters of the layers whose state may leave the range that it has without them."""
    meters = []
    for node in list(prepared.graph.nodes):
        if not _may_grow(node):
            continue
        meter = StateMeter(node.name, node.target)
        insert_meter(meter, node, (node, *node.args))
        meters.append(meter)
    return tuple(meters)


def choose_state_ranges(prepared: GraphModule, meters: Sequence[StateMeter], states: int) -> None:
    """Gives layers the finest states that hold what their meters saw, and removes the meters.

    Args:
        states: how many of the last inputs and outputs are states of the graph.
    """
    largest = {meter.name: meter.largest for meter in meters}
    remove_meters(prepared, StateMeter)
    chosen: dict[Node, int] = {}
    for members in _connected(prepared, states):
        layers = [node for node in members if node.target in _LAYERS]
        most = max((largest.get(layer.name, 0.0) for layer in layers), default=0.0)
        finest = CELL_BITS if layers and layers[0].target in _LSTM else STATE_BITS
        if most > 2.0 ** (UNIT_BITS - finest):
            bits = max(0, UNIT_BITS - math.ceil(math.log2(most)))
            chosen.update(dict.fromkeys(members, bits))
    for node in prepared.graph.nodes:
        if node.target in _LAYERS and node in chosen:
            node.args = (*node.args[:_BITS], chosen[node], *node.args[_BITS + 1 :])
        elif node.op == "call_module":
            _hold(observer_of(node), {chosen[each] for each in _origins(node) if each in chosen})


def _hold(observer: Any, bits: set[int]) -> None:
    """Gives the fixed range of a state another step."""
    if isinstance(observer, FixedQParamsObserver) and observer.dtype == torch.int16 and bits:
        observer.scale.fill_(2.0 ** -bits.pop())


def _may_grow(node: Node) -> bool:
    if node.target in _GRU:
        return node.args[1] is not None
    if node.target not in _LSTM:
        return False
    results, batch_first = node.meta["val"], node.args[-2]
    rows = results[0] if isinstance(results, tuple) else results
    steps = rows.shape[int(bool(batch_first))]
    # A cell grows by less than one in a step.
    return node.args[2] is not None or steps > 2 ** (UNIT_BITS - CELL_BITS)


def _cells(rows: Tensor, x: Tensor, hidden: Any, cell: Any, *others: Any) -> list[Tensor]:
    """The cells before an LSTM's first step and after each, from its inputs and outputs."""
    input_weight, hidden_weight, input_bias, hidden_bias, *_, slot, batch_first, reverse = others
    time = int(batch_first)
    x, rows = (part.transpose(0, time) for part in (x, rows))
    if reverse:
        x, rows = x.flip(0), rows.flip(0)
    if hidden is None:
        rows = torch.cat([torch.zeros_like(rows[:1]), rows])
    gates = torch.nn.functional.linear(x, input_weight, input_bias)
    gates = gates + torch.nn.functional.linear(rows[:-1], hidden_weight, hidden_bias)
    entry, forget, fresh, _ = gates.chunk(4, 2)
    kept, added = forget.sigmoid(), entry.sigmoid() * fresh.tanh()
    state = torch.zeros_like(added[0])
    if cell is not None:
        state = cell.reshape(-1, *state.shape)[slot]
    cells = [state]
    for factor, addend in zip(kept, added, strict=True):
        cells.append(cells[-1] * factor + addend)
    return cells


@dataclass(frozen=True, slots=True)
class _Links:
    """Disjoint sets of layers and of the graph's states.

    Attributes:
        parents: of each member but the first of its set.
    """

    parents: dict[Node, Node]

    def first(self, node: Node) -> Node:
        while (parent := self.parents.get(node, node)) is not node:
            node = parent
        return node

    def join(self, nodes: Iterable[Node]) -> None:
        firsts = {self.first(node): None for node in nodes}
        for other in list(firsts)[1:]:
            self.parents[other] = next(iter(firsts))


def _connected(prepared: GraphModule, states: int) -> Iterator[list[Node]]:
    """Layers of one kind and the graph's states that they pass on: all must be of one scale."""
    for kind, place in ((_LSTM, 2), (_GRU, 1)):
        nodes = list(prepared.graph.nodes)
        layers = [node for node in nodes if node.target in kind]
        links = _Links({})
        for node in nodes:
            if node.target is cmbuild.cat_states.default:
                links.join(_origins(node))
        for layer in layers:
            links.join([layer, *_origins(layer.args[place])])
        if states:
            inputs = [node for node in nodes if node.op == "placeholder"][-states:]
            results: Any = nodes[-1].args[0]
            outputs = torch.utils._pytree.tree_leaves(results)[-states:]
            for state, output in zip(inputs, outputs, strict=True):
                links.join([state, *_origins(output)])
        groups: dict[Node, list[Node]] = {}
        for node in dict.fromkeys([*layers, *links.parents, *links.parents.values()]):
            groups.setdefault(links.first(node), []).append(node)
        yield from groups.values()


def _origins(state: Any) -> Iterator[Node]:
    """The layers and inputs of the graph that a state comes from, moved at most."""
    if not isinstance(state, Node):
        return
    if state.op == "placeholder" or state.target in _LAYERS:
        yield state
        return
    if state.op == "call_module" or state.target in _PASSING or is_moved(state):
        for source in state.all_input_nodes:
            yield from _origins(source)
