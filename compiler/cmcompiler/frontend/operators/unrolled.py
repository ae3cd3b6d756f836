"""Recurrent layers as operators of ATen that have float kernels, step by step.

Importing it imports torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from cmcompiler.frontend.operators.recurrent import Place
from cmcompiler.frontend.operators.recurrent import ops as cmbuild

Step = Callable[[Tensor, Tensor | None, Tensor | None], tuple[Tensor, Tensor | None]]
"""From the input's part of the gates [batch, gates], the preceding outputs and cells [batch, size],
None if they are zeros, to new ones."""


def lstm(x: Tensor, hidden: Tensor | None, cell: Tensor | None, *others: Any) -> Any:
    """Rows and the final cells."""
    weight, hidden_weight, bias, hidden_bias, projection, _, slot, batch_first, reverse = others

    def step(
        gates: Tensor, before: Tensor | None, cells: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        entry, forget, fresh, shown = _parts(
            gates + _product(before, hidden_weight, hidden_bias), 4
        )
        new = entry.sigmoid() * fresh.tanh()
        if cells is not None:
            new = new + forget.sigmoid() * cells
        units = shown.sigmoid() * new.tanh()
        return (units if projection is None else linear(units, projection)), new

    place = Place(slot, batch_first, reverse)
    rows, _, final = _walk(step, linear(x, weight, bias), hidden, cell, place)
    return rows, _shaped(final, cell)


def gru(x: Tensor, hidden: Tensor | None, *others: Any) -> Any:
    """Rows and the final state."""
    weight, hidden_weight, bias, hidden_bias, _, slot, batch_first, reverse = others

    def step(
        gates: Tensor, before: Tensor | None, cells: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        held = _product(before, hidden_weight, hidden_bias)
        if isinstance(held, float):
            _, update, fresh = _parts(gates, 3)
            new = fresh.tanh()
        else:
            own = _parts(held.expand(gates.shape), 3)
            reset, update, fresh = _parts(gates, 3)
            update = update + own[1]
            new = (fresh + (reset + own[0]).sigmoid() * own[2]).tanh()
        kept = update.sigmoid()
        return (new - kept * new if before is None else new + kept * (before - new)), None

    place = Place(slot, batch_first, reverse)
    rows, final, _ = _walk(step, linear(x, weight, bias), hidden, None, place)
    return rows, _shaped(final, hidden)


def rnn(x: Tensor, hidden: Tensor | None, *others: Any) -> Tensor:
    weight, hidden_weight, bias, hidden_bias, function, slot, batch_first, reverse = others

    def step(
        gates: Tensor, before: Tensor | None, cells: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        total = gates + _product(before, hidden_weight, hidden_bias)
        return (total.tanh() if function == "tanh" else total.relu()), None

    place = Place(slot, batch_first, reverse)
    return _walk(step, linear(x, weight, bias), hidden, None, place)[0]


def _walk(
    step: Step, gates: Tensor, hidden: Tensor | None, cell: Tensor | None, place: Place
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, with as many as the layer's operator has, and the last outputs and cells.

    Nothing reads the row of initial outputs, which takes the next one's numbers: its own would
    widen the range of the others.
    """
    time = place.time
    before, cells = (_first(given, place.slot) for given in (hidden, cell))
    rows = []
    order = range(gates.shape[time])
    for turn in reversed(order) if place.reverse else order:
        before, cells = step(gates.select(time, turn), before, cells)
        rows.append(before.unsqueeze(time))
    last = before
    assert last is not None
    if hidden is not None:
        rows.insert(0, rows[0])
    joined = torch.cat(rows[::-1] if place.reverse else rows, time)
    return joined, last, last if cells is None else cells


def _first(given: Tensor | None, slot: int) -> Tensor | None:
    return given if given is None or given.ndim == 2 else given.select(0, slot)


def _shaped(final: Tensor, given: Tensor | None) -> Tensor:
    return final if given is not None and given.ndim == 2 else final.unsqueeze(0)


def _product(before: Tensor | None, weight: Tensor, bias: Tensor | None) -> Any:
    """The outputs' part of the gates; 0.0 if there are neither outputs nor a bias."""
    if before is not None:
        return linear(before, weight, bias)
    return 0.0 if bias is None else bias


def _parts(gates: Tensor, count: int) -> list[Tensor]:
    size = gates.shape[1] // count
    return [gates[:, place * size : (place + 1) * size] for place in range(count)]


UNROLLED: dict[Any, Callable[..., Any]] = {
    cmbuild.lstm.default: lambda *layer: lstm(*layer)[0],
    cmbuild.lstm_state.default: lstm,
    cmbuild.gru.default: lambda *layer: gru(*layer)[0],
    cmbuild.gru_state.default: gru,
    cmbuild.short_lstm.default: lambda *layer: lstm(*layer)[0],
    cmbuild.short_lstm_state.default: lstm,
    cmbuild.short_gru.default: lambda *layer: gru(*layer)[0],
    cmbuild.short_gru_state.default: gru,
    cmbuild.fine_lstm.default: lambda *layer: lstm(*layer)[0],
    cmbuild.fine_lstm_state.default: lstm,
    cmbuild.fine_gru.default: lambda *layer: gru(*layer)[0],
    cmbuild.fine_gru_state.default: gru,
    **dict.fromkeys(
        (cmbuild.rnn.default, cmbuild.short_rnn.default, cmbuild.fine_rnn.default), rnn
    ),
}
"""By the operator of one layer in one direction."""
