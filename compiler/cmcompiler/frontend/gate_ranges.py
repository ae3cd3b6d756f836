"""Recurrent layers in float where integers cannot hold them. Importing it imports torch.

In integers, the input's part of a gate and its sum stop at the ends of 16 bits, and the initial
outputs share the range of the others. Forget gates that stop at 8 keep the mean of what they would
keep, or an LSTM's cells would lose up to 0.03 % in each step.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg
from torch.nn.functional import linear
from torchao.quantization.pt2e import HistogramObserver

from cmcompiler.frontend import backend
from cmcompiler.frontend.fidelity.cells import CELLS, FloatCell, LstmCell
from cmcompiler.frontend.fidelity.pairing import StepRange
from cmcompiler.frontend.float_parts import inline
from cmcompiler.frontend.meters import insert_meter, remove_meters
from cmcompiler.frontend.operators.recurrent import Place
from cmcompiler.frontend.operators.unrolled import UNROLLED
from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.rewrites.editing import constant, constant_value
from cmcompiler.frontend.rewrites.fixed_ranges import JOINS, MOVEMENTS
from cmcompiler.ops.lstm import BEYOND
from cmcompiler.ops.support.gates import GATE_BITS, INT16_MAX, MOST_BEYOND, UNIT_BITS

REASON = "its gates or given states leave the range of its integers"

_FUNCTIONS = StepRange(2.0**-7, 0, -128, 127, is_fixed=True)
"""The int8 range that results of sigmoid and tanh have."""

_END = INT16_MAX * 2.0**-GATE_BITS
"""The largest gate."""

_BITS = -4
"""Position of the state's fractional bits among the arguments of a layer."""

_LSTM_BIAS = 5
"""Position of the bias of the input's part among the arguments of an LSTM."""

_GIVEN = 4.0
"""Given outputs up to here, or up to as many times the others, leave those enough steps."""

_GROWTH = 16.0
"""Outputs without an upper end that grow by more have too few steps at first."""


class GateMeter(torch.nn.Module):
    """Tells whether a layer leaves its ranges; called with its results and its arguments.

    Attributes:
        lost: the most that a function of gates is off where these stop at their ends.
        part: the largest input's part of gates whose positive part is the output.
        given, own: largest magnitudes of initial outputs, and of the others for each step.
        low, high: ends of the input's part of each gate of an LSTM, [gates, units].
        stopped, kept: how many forget gates stop at their upper end, and the sum of what they keep.
    """

    def __init__(self, name: str, operator: Any) -> None:
        super().__init__()
        self.name = name
        self.lost = self.part = self.given = 0.0
        self.low, self.high = torch.tensor(torch.inf), torch.tensor(-torch.inf)
        self.stopped, self.kept, self._lost_moved = 0, 0.0, 0.0
        self.own = torch.zeros(1)
        self._operator = operator
        self._cell: FloatCell | None = None

    def forward(self, results: Any, *layer: Any) -> None:
        rows = results[0] if isinstance(results, tuple) else results
        place = Place(*layer[-3:])
        x, rows = (part.transpose(0, place.time) for part in (layer[0], rows))
        if place.reverse:
            x, rows = x.flip(0), rows.flip(0)
        if layer[1] is None:
            rows = torch.cat([torch.zeros_like(rows[:1]), rows])
        before, after = rows[:-1], rows[1:]
        self.given = max(self.given, float(before[0].abs().max()))
        self.own = torch.maximum(self.own, after.abs().flatten(1).amax(1))
        if layer[-4] == "relu":
            of_input = linear(x, layer[2], layer[4])
            self.part = max(self.part, float((of_input * (after > 0)).abs().max()))
            return
        if self._cell is None:
            source = float(x.abs().max()) / 127 or 1.0
            self._cell = CELLS[self._operator](layer, source, _FUNCTIONS)
        flat = x.double().flatten(0, 1), before.double().flatten(0, 1)
        wide, held = (self._cell.gates(*flat, saturating=stops) for stops in (False, True))
        self.lost = max(self.lost, self._cell.lost(wide, held))
        if isinstance(self._cell, LstmCell):
            of_input, forget = self._cell.from_input(flat[0]), wide[:, 1]
            self.low = torch.minimum(self.low, of_input.amin(0))
            self.high = torch.maximum(self.high, of_input.amax(0))
            once = wide.clamp(*self._cell.gate_range.limits)
            self._lost_moved = max(self._lost_moved, self._cell.lost(wide, once))
            stopped = forget[forget >= _END]
            self.stopped += stopped.numel()
            self.kept += float(stopped.sigmoid().sum())

    @property
    def moved(self) -> Tensor | None:
        """What to move from the bias of the input's part to the other, so that the part does not
        stop at an end from which the other part leads back; None if nothing is gained.
        """
        is_out = torch.maximum(self.high, -self.low) > _END
        if not is_out.any() or (self.high - self.low > 2 * _END).any():
            return None
        return torch.where(is_out, (self.high + self.low) / 2, 0.0)

    @property
    def beyond(self) -> int:
        """What sigmoid of a gate that stops has more than that of the end: see `gates.table`."""
        if not self.stopped:
            return 0
        more = self.kept / self.stopped - 1 / (1 + math.exp(-_END))
        return max(0, min(MOST_BEYOND, round(more * 2.0**UNIT_BITS)))

    @property
    def is_beyond(self) -> bool:
        """Whether integers would be off by more than half a step."""
        largest = max(self.given, float(self.own.max()), 1.0)
        end = 2.0 ** float(torch.tensor(largest).log2().ceil())
        least = float(self.own.min())
        is_coarse = self.given > _GIVEN * max(1.0, least)
        if self.part:
            is_coarse = is_coarse or float(self.own.max()) > _GROWTH * least > 0
        lost = self.lost if self.moved is None else self._lost_moved
        return lost > _FUNCTIONS.scale / 2 or self.part > end * (1 + 2**-8) or is_coarse


def watch_gates(prepared: GraphModule) -> tuple[GateMeter, ...]:
    """Meters of all layers."""
    meters = []
    for node in list(prepared.graph.nodes):
        if node.target not in UNROLLED or not backend.is_quantized(node):
            continue
        meter = GateMeter(node.name, node.target)
        insert_meter(meter, node, (node, *node.args))
        meters.append(meter)
    return tuple(meters)


def unroll_beyond(
    prepared: GraphModule, meters: Sequence[GateMeter], states: int
) -> frozenset[str]:
    """Computes layers in float whose meters say so, and removes the meters.

    Layers in integers take from them what forget gates keep that stop.

    If there are any, observers must see the calibration inputs again: they have forgotten them.

    Args:
        states: how many of the last inputs are states of the graph.

    Returns: the names of operators in float.
    """
    beyond = {meter.name for meter in meters if meter.is_beyond}
    held = {meter.name: meter for meter in meters if not meter.is_beyond}
    remove_meters(prepared, GateMeter)
    for node in list(prepared.graph.nodes):
        if node.name in held:
            _keep_gates(node, held[node.name])
    if not beyond:
        return frozenset()
    given = [node for node in prepared.graph.nodes if node.op == "placeholder"]
    exact = set(given[: len(given) - states])
    members: set[Node] = set()
    for node in list(prepared.graph.nodes):
        if node.name in beyond:
            backend.mark_as_float(node)
            node.args = map_arg(node.args, lambda each: _exact(each, exact, members) or each)
            inline(node, UNROLLED[node.target], members)
    for node in reversed(list(prepared.graph.nodes)):
        if node.op not in ("output", "placeholder") and not node.users:
            prepared.graph.erase_node(node)
    for node in prepared.graph.nodes:
        if node.op == "call_module":
            _forget(observer_of(node))
    return frozenset(node.name for node in prepared.graph.nodes if node in members)


def _keep_gates(node: Node, meter: GateMeter) -> None:
    """Has a layer in integers keep gates that it would stop without need."""
    if meter.beyond:
        bits: Any = node.args[_BITS]
        node.update_arg(len(node.args) + _BITS, bits + meter.beyond * BEYOND)
    if (moved := meter.moved) is None:
        return
    for position, sign in ((_LSTM_BIAS, -1), (_LSTM_BIAS + 1, 1)):
        bias: Any = node.args[position]
        added = (sign * moved).flatten().float()
        value = added if bias is None else constant_value(bias) + added
        node.update_arg(position, constant(node, f"{node.name}_bias_{position}", value))


def _forget(observer: Any) -> None:
    """Has an observer of activations begin anew."""
    if isinstance(observer, HistogramObserver):
        observer.histogram.zero_()
        observer.min_val.fill_(torch.inf)
        observer.max_val.fill_(-torch.inf)


def _exact(argument: Node, exact: Collection[Node], members: set[Node]) -> Node | None:
    """An argument without rounding; None if it is rounded before it was moved and joined at most.

    Args:
        exact: inputs of the model.
        members: operators in float, which gets copies of those that move.
    """
    if argument in exact or argument in members:
        return argument
    if argument.op == "call_module":
        return _exact(argument.all_input_nodes[0], exact, members)
    if argument.target not in MOVEMENTS | JOINS:
        return None
    sources = {each: _exact(each, exact, members) for each in argument.all_input_nodes}
    unrounded = {each: source for each, source in sources.items() if source is not None}
    if len(unrounded) < len(sources) or not unrounded:
        return None
    with argument.graph.inserting_after(argument):
        moved = argument.graph.node_copy(argument, unrounded.__getitem__)
    moved.meta.update(argument.meta)
    backend.mark_as_float(moved)
    members.add(moved)
    return moved
