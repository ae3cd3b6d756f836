"""Recurrent layers turn by turn, each from the program's own state. Importing it imports torch.

A sequence is one operator, in which roundings add up. So each turn is compared on its own, and
within it gates, state and outputs, each computed from the program's own values of the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from cmcompiler.frontend.fidelity.cells import CELLS, FloatCell, rescaling_step
from cmcompiler.frontend.fidelity.pairing import StepRange
from cmcompiler.frontend.fidelity.parts import LayerPart
from cmcompiler.frontend.fidelity.values import real
from cmcompiler.frontend.operators.recurrent import Place
from cmcompiler.ops.support.recurrence import Turns

_FUNCTION_STEPS = 1 << 7
_FUNCTION_STEP = 1 / _FUNCTION_STEPS


@dataclass(frozen=True, eq=False, slots=True)
class TurnResults:
    """A layer's results in float.

    Attributes:
        rows: with the initial outputs where the operator returns them.
        final: state, [1, batch, size].
        parts: that the program does not show in its results.
    """

    rows: Tensor
    row_step: Tensor
    final: Tensor
    final_step: Tensor
    parts: tuple[LayerPart, ...]


def layer_of(node: Node) -> Node | None:
    """The recurrent operator whose outputs a node is."""
    if node.target is getitem and node.args[1] == 0:
        (node,) = node.all_input_nodes
    return node if node.target in CELLS else None


def turn_by_turn(
    target: Any,
    arguments: Sequence[Any],
    scales: Sequence[float | None],
    output: StepRange,
    turns: Turns,
) -> TurnResults | None:
    """Results of an operator of the float graph, each turn from the program's values before it.

    None if the program walks through another number of turns: they are no counterparts.

    Args:
        arguments: weights before they are rounded.
        scales: of the input, and of initial outputs if they are given.
        output: range of the outputs.
    """
    source, initial_source = scales
    assert source is not None
    cell = CELLS[target](arguments, source, output)
    place = Place(*arguments[-3:])
    count, batch = turns.gates.shape[:2]

    def flat(array: Tensor) -> Tensor:
        return array.reshape(count * batch, *array.shape[2:])

    def by_turn(array: Tensor) -> Tensor:
        return array.reshape(count, batch, *array.shape[1:])

    x = arguments[0].double().transpose(0, place.time)
    if x.shape[:2] != (count, batch):
        return None
    x = x.flip(0) if place.reverse else x
    rows = real(turns.rows, output)
    given = arguments[1]
    first = place.initial(given, arguments[0], rows.shape[2]).double()
    # The program's initial outputs are a result as others; without any they are zeros.
    before = rows[:-1] if given is not None else torch.cat([first, rows[1:-1]])
    gates, made_gates = cell.gates(flat(x), flat(before)), real(turns.gates, cell.gate_range)
    step = cell.gate_step().expand_as(gates)
    parts = [LayerPart("gates", by_turn(gates), turns.gates, cell.gate_range, by_turn(step))]
    wide = cell.gates(flat(x), flat(before), saturating=False)
    if not torch.equal(wide, gates):
        parts.append(_saturation(cell, wide, gates))

    states = torch.zeros(count, batch, 0).double()
    final, final_step, held = states[-1:], states[-1:], states
    if cell.state_range is not None:
        held = real(turns.states, cell.state_range)
        initial = None if given is None else arguments[cell.first_weight - 1]
        begin = place.initial(initial, arguments[0], held.shape[2]).double()
        states = torch.cat([begin, held[1:-1]])
        exact, step = map(by_turn, cell.advance(flat(made_gates), flat(states)))
        parts.append(LayerPart("state", exact, turns.states[1:], cell.state_range, step))
        final, final_step, held = exact[-1:], step[-1:], held[1:]

    units, unit_step = map(by_turn, cell.units(flat(made_gates), flat(held)))
    if cell.units_range is not None:
        parts.append(LayerPart("units", units, turns.narrowed, cell.units_range, unit_step))
        narrowed = real(turns.narrowed, cell.units_range)
        units, unit_step = map(by_turn, cell.project(flat(narrowed)))
    if given is not None:
        step = rescaling_step(torch.tensor(initial_source or output.scale), output.scale)
        units = torch.cat([first, units])
        unit_step = torch.cat([step.double().expand_as(first), unit_step])
    return TurnResults(
        _ordered(units, place), _ordered(unit_step, place), final, final_step, tuple(parts)
    )


def _saturation(cell: FloatCell, wide: Tensor, gates: Tensor) -> LayerPart:
    """The loss of gates' functions where a sum, or the input's part of it, leaves the range.

    Half a step of outputs is allowed: of functions between -1 and 1, if they are not the outputs.
    """
    held = StepRange(_FUNCTION_STEP, 0, -_FUNCTION_STEPS, _FUNCTION_STEPS, is_fixed=True)
    if not cell.gate_range.is_fixed:
        held = cell.output
    exact, made = cell.functions(wide), cell.functions(gates)
    steps = made.clamp(*held.limits) / held.scale + held.zero_point
    return LayerPart("saturation", exact, steps.numpy(), held, torch.tensor(held.scale))


def _ordered(rows: Tensor, place: Place) -> Tensor:
    """In the operator's layout."""
    return (rows.flip(0) if place.reverse else rows).transpose(0, place.time)
