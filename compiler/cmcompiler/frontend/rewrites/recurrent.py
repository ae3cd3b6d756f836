"""Puts the compiler's own recurrent layers in place of torch's, which would be unrolled."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Node

from cmcompiler.frontend.operators.recurrent import ops as cmbuild
from cmcompiler.frontend.rewrites.editing import constant_value, fake, insert, is_constant
from cmcompiler.frontend.rewrites.fixed_ranges import MOVEMENTS
from cmcompiler.ops.gru import STATE_BITS
from cmcompiler.ops.lstm import CELL_BITS

aten = torch.ops.aten

_SPLITS = {
    *(aten.chunk.default, aten.unbind.int),
    *(aten.split.Tensor, aten.split_with_sizes.default),
}

ZEROS = (aten.zeros.default, aten.zeros_like.default, aten.new_zeros.default)


def rewrite_recurrent(module: GraphModule) -> None:
    """Replaces LSTM, GRU and RNN layers and cells whose parameters are constant."""
    for node in list(module.graph.nodes):
        make = MAKERS.get(node.target)
        if make is not None:
            _cut_states(node)
            make(node)
            _remove_unused(node)


def _cut_states(layer: Node) -> None:
    """Makes slices of given states that are parts of one tensor.

    What leads from such a tensor to its next value can then be in float.
    """
    given = layer.args[1]
    left: list[Any] = list(given) if isinstance(given, list | tuple) else [given]
    for state in left:
        if not isinstance(state, Node):
            continue
        if state.target in MOVEMENTS:
            left.append(state.args[0])
        elif state.target is operator.getitem:
            _cut(*state.args)


def _cut(parts: Any, place: Any) -> None:
    """Replaces a part of a tensor by a slice."""
    if parts.target not in _SPLITS:
        return
    is_unbound = parts.target is aten.unbind.int
    source, *rest = parts.args if is_unbound else (parts.args[0], *parts.args[2:])
    dim = rest[0] if rest else parts.kwargs.get("dim", 0)
    if is_unbound:
        made = insert(parts, aten.select.int, source, dim, place)
    else:
        sizes = [part.shape[dim] for part in fake(parts)]
        start = sum(sizes[:place])
        made = insert(parts, aten.slice.Tensor, source, dim, start, start + sizes[place])
    part = next(user for user in parts.users if user.args[1] == place)
    part.replace_all_uses_with(made)


@dataclass(frozen=True, slots=True)
class RecurrentKind:
    """A kind of layer.

    Attributes:
        operator: the layer in one direction.
        with_final: the same, with the final value of its last state as second result.
        states: of them, the outputs first.
        settings: arguments between parameters and place.
    """

    operator: Any
    with_final: Any
    states: int
    settings: tuple[Any, ...] = ()

    @property
    def has_cells(self) -> bool:
        return self.states == 2


LSTM = RecurrentKind(cmbuild.lstm.default, cmbuild.lstm_state.default, 2, (CELL_BITS,))
GRU = RecurrentKind(cmbuild.gru.default, cmbuild.gru_state.default, 1, (STATE_BITS,))
TANH_RNN = RecurrentKind(cmbuild.rnn.default, None, 1, ("tanh",))
RELU_RNN = RecurrentKind(cmbuild.rnn.default, None, 1, ("relu",))


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer in one direction, before the node that it replaces part of.

    Attributes:
        states: given initial ones, or None for each.
        parameters: weights of input and outputs, their biases, and the projection of an LSTM.
    """

    kind: RecurrentKind
    node: Node
    states: Sequence[Node | None]
    parameters: Sequence[Node | None]
    slot: int
    batch_first: bool
    reverse: bool

    def run(self, x: Node, *, wants_final: bool) -> tuple[Node, Node, Node | None]:
        """Outputs, last outputs [batch, outputs], and the final state if wanted."""
        place = self.slot, self.batch_first, self.reverse
        arguments = (x, *self.states, *self.parameters, *self.kind.settings, *place)
        final = None
        if wants_final:
            both = insert(self.node, self.kind.with_final, *arguments)
            rows = insert(self.node, operator.getitem, both, 0)
            final = insert(self.node, operator.getitem, both, 1)
        else:
            rows = insert(self.node, self.kind.operator, *arguments)
        time = int(self.batch_first)
        last = insert(self.node, aten.select.int, rows, time, 0 if self.reverse else -1)
        if self.states[0] is not None:
            # Without the row of initial outputs.
            steps = fake(rows).shape[time]
            first, end = (0, steps - 1) if self.reverse else (1, steps)
            rows = insert(self.node, aten.slice.Tensor, rows, time, first, end)
        return rows, last, final


@dataclass(frozen=True, slots=True)
class Results:
    """The users of the results of the node to be replaced, if there are any.

    Attributes:
        outputs: of all steps.
        last: outputs.
        final: cells of an LSTM.
    """

    kind: RecurrentKind
    node: Node
    outputs: Node | None
    last: Node | None
    final: Node | None

    @classmethod
    def of(cls, kind: RecurrentKind, node: Node) -> Results:
        results: dict[Any, Node] = {user.args[1]: user for user in node.users if user.users}
        return cls(kind, node, results.get(0), results.get(1), results.get(2))

    def wants_final(self, has_initial: bool) -> bool:
        """Whether the final state must come out in full: cells always, outputs if carried on.

        Other uses take int8 outputs; without any, nothing would tell their range.
        """
        if self.kind.has_cells or self.kind.with_final is None or self.last is None:
            return self.final is not None
        carried = [_carries_on(user, self.last) for user in self.last.users]
        return has_initial and any(carried) and (self.outputs is not None or not all(carried))

    def replace(self, outputs: Node, lasts: Sequence[Node], finals: Sequence[Node]) -> None:
        """
        Args:
            lasts: last outputs [batch, outputs] of each layer and direction.
            finals: final states [1, batch, units] likewise; empty if not wanted.
        """
        if self.outputs is not None:
            self.outputs.replace_all_uses_with(outputs)
        final = None
        if finals:
            final = finals[0]
            if len(finals) > 1:
                final = insert(self.node, cmbuild.cat_states.default, list(finals))
        if self.final is not None and final is not None:
            self.final.replace_all_uses_with(final)
        if self.last is not None:
            self._replace_last(self.last, lasts, None if self.kind.has_cells else final)

    def _replace_last(self, last: Node, lasts: Sequence[Node], carried: Node | None) -> None:
        whole = None
        for user in list(last.users):
            if carried is not None and _carries_on(user, last):
                user.replace_input_with(last, carried)
            elif user.target is aten.select.int and user.args[1] == 0:
                index: Any = user.args[2]
                user.replace_all_uses_with(lasts[index])
                user.graph.erase_node(user)
            else:
                whole = whole or self._stacked(lasts)
                user.replace_input_with(last, whole)

    def _stacked(self, rows: Sequence[Node]) -> Node:
        parts = [insert(self.node, aten.unsqueeze.default, row, 0) for row in rows]
        return parts[0] if len(parts) == 1 else insert(self.node, aten.cat.default, parts, 0)


def _carries_on(user: Node, state: Node) -> bool:
    """Whether a node takes a state to a later run or to another layer."""
    return user.op == "output" or (user.target in MAKERS and user.args[0] is not state)


def _layers(kind: RecurrentKind) -> Callable[[Node], None]:
    def make(node: Node) -> None:
        arguments: Any = node.args
        x, states, parameters, has_biases, count, dropout, trains, both_ways, batch_first = (
            arguments
        )
        results = Results.of(kind, node)
        is_used = results.outputs is not None or results.last is not None
        if (trains and dropout) or not is_used or not all(map(is_constant, parameters)):
            return
        given = _given(states if kind.has_cells else [states])
        wants_final = results.wants_final(given[0] is not None)
        directions = 2 if both_ways else 1
        size = len(parameters) // (count * directions)
        lasts, finals = [], []
        for layer in range(count):
            outputs = []
            for reverse in range(directions):
                slot = layer * directions + reverse
                own = _arranged(kind, parameters[slot * size : (slot + 1) * size], has_biases)
                part = Layer(kind, node, given, own, slot, batch_first, bool(reverse))
                rows, last, final = part.run(x, wants_final=wants_final)
                outputs.append(rows)
                lasts.append(last)
                finals += [] if final is None else [final]
            x = outputs[0] if len(outputs) == 1 else insert(node, aten.cat.default, outputs, 2)
        results.replace(x, lasts, finals)

    return make


def _cell(kind: RecurrentKind) -> Callable[[Node], None]:
    """One step of a layer: its last outputs are a result, [batch, outputs]."""

    def make(node: Node) -> None:
        arguments: Any = node.args
        x, states, *parameters = arguments
        last: Node | None = node
        cells: Node | None = None
        if kind.has_cells:
            results: dict[Any, Node] = {user.args[1]: user for user in node.users if user.users}
            last, cells = results.get(0), results.get(1)
        constant = all(is_constant(p) for p in parameters if p is not None)
        if last is None or not constant or fake(x).ndim != 2:
            return
        given = _given(states if kind.has_cells else [states])
        wants_final = Results(kind, node, None, last, cells).wants_final(given[0] is not None)
        own = [*parameters, *(None,) * (4 + kind.has_cells - len(parameters))]
        sequence = insert(node, aten.unsqueeze.default, x, 0)
        part = Layer(kind, node, given, own, 0, batch_first=False, reverse=False)
        _, outputs, final = part.run(sequence, wants_final=wants_final)
        if final is not None and given[0] is None:
            final = insert(node, aten.squeeze.dim, final, 0)
        for user in list(last.users):
            is_carried = not kind.has_cells and final is not None and _carries_on(user, last)
            user.replace_input_with(last, final if is_carried and final else outputs)
        if cells is not None and final is not None:
            cells.replace_all_uses_with(final)

    return make


def _remove_unused(node: Node) -> None:
    """Removes a node and its results; torch counts layers with dropout as impure."""
    for unused in [*(user for user in node.users if not user.users), node]:
        if not unused.users:
            node.graph.erase_node(unused)


def _given(states: Sequence[Node]) -> Sequence[Node | None]:
    """Initial states, or None for each if all are zero."""
    return [None] * len(states) if all(map(_is_zero, states)) else states


def _is_zero(state: Node) -> bool:
    if is_constant(state):
        return not constant_value(state).any()
    return state.target in ZEROS


def _arranged(
    kind: RecurrentKind, parameters: Sequence[Node], has_biases: bool
) -> list[Node | None]:
    """Parameters of a layer with None for those that it lacks."""
    weights, rest = parameters[:2], list(parameters[2:])
    biases = [rest.pop(0), rest.pop(0)] if has_biases else [None, None]
    projection = [rest.pop(0) if rest else None] if kind.has_cells else []
    return [*weights, *biases, *projection]


MAKERS: dict[Any, Callable[[Node], None]] = {
    aten.lstm.input: _layers(LSTM),
    aten.gru.input: _layers(GRU),
    aten.rnn_tanh.input: _layers(TANH_RNN),
    aten.rnn_relu.input: _layers(RELU_RNN),
    aten.lstm_cell.default: _cell(LSTM),
    aten.gru_cell.default: _cell(GRU),
    aten.rnn_tanh_cell.default: _cell(TANH_RNN),
    aten.rnn_relu_cell.default: _cell(RELU_RNN),
}
"""By the operator that they replace; results that nothing uses are dead afterwards."""
