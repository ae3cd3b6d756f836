"""Recurrent cells in float, and how far integers may be off in a turn. Importing it imports torch.

Tensors are [rows, …] in double precision, with a row for each turn and batch. Beside each result is
its step: the sum of the steps of all roundings on the way, so that half of it is the largest error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor

from cmcompiler.frontend.fidelity.pairing import StepRange
from cmcompiler.frontend.operators.recurrent import (
    FINE_LEVELS,
    UNITS_SCALE,
    relu_bits,
    rounded_rows,
    row_scales,
)
from cmcompiler.frontend.operators.recurrent import ops as cmbuild
from cmcompiler.frontend.weight_steps import LEVELS
from cmcompiler.ir.quantization import Quantization
from cmcompiler.ops.lstm import BEYOND
from cmcompiler.ops.support.gates import GATE_BITS, UNIT_BITS
from cmcompiler.ops.support.requantize16 import SHORT_ROUNDING

Stepped = tuple[Tensor, Tensor]
"""Numbers, and the step of each."""

_TABLE = 3 * 2.0**-UNIT_BITS
"""Step of sigmoid and tanh, whose tables are off by up to 1.5 of their last bits."""

_INT16 = (-(1 << 15), (1 << 15) - 1)

_BYTES = 256
"""Steps of int8 numbers; int16 ones have more."""


def int16(bits: int, *, is_fixed: bool) -> StepRange:
    """The range of numbers with so many fractional bits."""
    return StepRange(2.0**-bits, 0, *_INT16, is_fixed)


def rescaling_step(source: Tensor, result: float) -> Tensor:
    """The step of what is rescaled: kernels round it before they shift it right, then once more.

    Args:
        source, result: scales of integers.
    """
    shifts = torch.frexp(source / result).exponent
    return result * (1 + torch.where(shifts < 0, 2.0**shifts, 0.0))


@dataclass(frozen=True, eq=False, slots=True)
class FloatProduct:
    """Rows times a layer's weights, as rounded, plus its bias.

    Attributes:
        step: of each gate.
    """

    weight: Tensor
    bias: Tensor
    step: Tensor

    @classmethod
    def of(
        cls,
        weight: Tensor,
        bias: Tensor | None,
        source: float,
        gate: StepRange,
        parts: int,
        *,
        is_short: bool,
        levels: int,
    ) -> FloatProduct:
        """
        Args:
            source: scale of what is multiplied.
            gate: range of the gates.
            parts: gates of a unit.
            is_short: int16 numbers are multiplied.
            levels: the largest weight, in steps.
        """
        scales = row_scales(weight, bias, source, 1 / gate.scale, levels)
        step = rescaling_step(source * scales, gate.scale)
        if is_short:
            products = 1 if levels == LEVELS else 2
            step = torch.full_like(scales, 2 * products * SHORT_ROUNDING * gate.scale)
        added = torch.zeros_like(scales)
        if bias is not None:
            # Biases are integers in steps of the sums.
            # The bias goes with the upper eight bits of weights.
            step, added = step + source * scales * (levels / LEVELS), bias.double()
        by_gate = (each.reshape(parts, -1) for each in (added, step))
        return cls((rounded_rows(weight, scales, levels) * scales[:, None]), *by_gate)

    def __call__(self, rows: Tensor) -> Tensor:
        """[rows, gates, units]."""
        return (rows @ self.weight.T).reshape(-1, *self.bias.shape) + self.bias


class FloatCell(ABC):
    """One turn of an LSTM, GRU or RNN.

    Attributes:
        gate_range: ±8 by design for sigmoid and tanh, which are at their ends there.
        state_range: of what is kept beside the outputs; None without any.
        units_range: of what a projection reads; None without one.
    """

    gate_range = int16(GATE_BITS, is_fixed=True)
    state_range: StepRange | None = None
    units_range: StepRange | None = None

    first_weight: ClassVar[int]
    gates_per_unit: ClassVar[int]

    levels: ClassVar[int] = LEVELS

    def __init__(self, arguments: Sequence[Any], source: float, output: StepRange) -> None:
        """
        Args:
            arguments: of the float operator; weights before they are rounded.
            source: scale of its input.
            output: range of its outputs.
        """
        place, parts = self.first_weight, self.gates_per_unit
        weight, hidden_weight, bias, hidden_bias = arguments[place : place + 4]
        self.output = output
        of = partial(
            FloatProduct.of,
            gate=self.gate_range,
            parts=parts,
            is_short=output.largest - output.least >= _BYTES,
            levels=self.levels,
        )
        self.from_input = of(weight, bias, source)
        self.from_hidden = of(hidden_weight, hidden_bias, output.scale)

    def gates(self, x: Tensor, before: Tensor, *, saturating: bool = True) -> Tensor:
        """[rows, gates, units] in the order of the program's operator.

        Args:
            x: input rows.
            before: outputs before the turn.
            saturating: products of the input stop at the ends of the range, and so do the sums.
        """
        of_input, of_hidden = self.from_input(x), self.from_hidden(before)
        if not saturating:
            return self.joined(of_input, of_hidden)
        limits = self.gate_range.limits
        return self.joined(of_input.clamp(*limits), of_hidden).clamp(*limits)

    def gate_step(self) -> Tensor:
        """[gates, units]."""
        return self.joined(self.from_input.step, self.from_hidden.step)

    def joined(self, of_input: Tensor, of_hidden: Tensor) -> Tensor:
        """The gates of products [..., gates, units]."""
        return of_input + of_hidden

    @abstractmethod
    def functions(self, gates: Tensor) -> Tensor:
        """The functions that a turn computes of its gates alone, [rows, functions, units]."""

    def lost(self, gates: Tensor, stopped: Tensor) -> float:
        """The most that functions of gates are off where these stop at their ends."""
        return float((self.functions(gates) - self.functions(stopped)).abs().max())

    @abstractmethod
    def advance(self, gates: Tensor, states: Tensor) -> Stepped:
        """States after the turn."""

    @abstractmethod
    def units(self, gates: Tensor, states: Tensor) -> Stepped:
        """The units that gates show of the states after the turn, rounded to the units' range."""

    def shown(self, units: Tensor, functions: float, source: float) -> Stepped:
        """
        Args:
            functions: step of the functions that lead to units.
            source: scale of what is rescaled.
        """
        scale = (self.units_range or self.output).scale
        step = rescaling_step(torch.tensor(source), scale) + functions
        return units, step.double().expand_as(units)

    def project(self, units: Tensor) -> Stepped:
        """The outputs of units that are rounded to a range of their own."""
        return units, torch.zeros_like(units)


class LstmCell(FloatCell):
    """Gates are input, forget, cell and output.

    Attributes:
        table_step: of sigmoid and tanh, of which the largest gate's may have more.
    """

    first_weight, gates_per_unit = 3, 4

    def __init__(self, arguments: Sequence[Any], source: float, output: StepRange) -> None:
        super().__init__(arguments, source, output)
        projection, (beyond, cell_bits) = arguments[7], divmod(arguments[8], BEYOND)
        self.table_step = _TABLE + 2 * beyond * 2.0**-UNIT_BITS
        self.state_range = int16(cell_bits, is_fixed=False)
        self.projection: Tensor | None = None
        if projection is not None:
            self.units_range = StepRange(UNITS_SCALE, 0, -128, 127, is_fixed=True)
            scales = row_scales(projection, None, UNITS_SCALE, 1 / output.scale)
            self.projection = rounded_rows(projection, scales) * scales[:, None]
            self.projection_step = rescaling_step(UNITS_SCALE * scales, output.scale)

    def functions(self, gates: Tensor) -> Tensor:
        entry, forget, fresh, shown = gates.unbind(1)
        return torch.stack([entry.sigmoid(), forget.sigmoid(), fresh.tanh(), shown.sigmoid()], 1)

    def advance(self, gates: Tensor, states: Tensor) -> Stepped:
        entry, forget, fresh, _ = gates.unbind(1)
        assert self.state_range is not None
        # The error of each product, and those of its two factors.
        magnitudes = states.abs() + fresh.tanh().abs() + 1
        step = 2 * self.state_range.scale + self.table_step * magnitudes
        return forget.sigmoid() * states + entry.sigmoid() * fresh.tanh(), step

    def units(self, gates: Tensor, states: Tensor) -> Stepped:
        units = gates[:, 3].sigmoid() * states.tanh()
        return self.shown(units, 2 * self.table_step, 2.0 ** (-2 * UNIT_BITS))

    def project(self, units: Tensor) -> Stepped:
        if self.projection is None:
            return super().project(units)
        outputs = units @ self.projection.T
        return outputs, self.projection_step.expand_as(outputs)


class GruCell(FloatCell):
    """Gates are new from the input, reset, update and new from the outputs."""

    first_weight, gates_per_unit = 2, 3

    def __init__(self, arguments: Sequence[Any], source: float, output: StepRange) -> None:
        super().__init__(arguments, source, output)
        bits = UNIT_BITS if arguments[1] is None else arguments[6]
        self.state_range: StepRange = int16(bits, is_fixed=False)

    def joined(self, of_input: Tensor, of_hidden: Tensor) -> Tensor:
        # Torch's order is reset, update, new.
        both = (of_input + of_hidden)[..., :2, :]
        return torch.cat([of_input[..., 2:, :], both, of_hidden[..., 2:, :]], -2)

    def functions(self, gates: Tensor) -> Tensor:
        fresh, reset, update, held = gates.unbind(1)
        kept = reset.sigmoid()
        return torch.stack([kept, update.sigmoid(), (fresh + kept * held).tanh()], 1)

    def advance(self, gates: Tensor, states: Tensor) -> Stepped:
        _, kept, new = self.functions(gates).unbind(1)
        before_tanh = self.gate_range.scale + _TABLE * gates[:, 3].abs()
        of_new = _TABLE + (1 - new.square()) * before_tanh
        step = 2 * self.state_range.scale + (1 - kept) * of_new
        return kept * states + (1 - kept) * new, step + _TABLE * (states - new).abs()

    def units(self, gates: Tensor, states: Tensor) -> Stepped:
        return self.shown(states, 0.0, self.state_range.scale)


class FineLstmCell(LstmCell):
    """With weights of 16 bits."""

    levels = FINE_LEVELS


class FineGruCell(GruCell):
    """With weights of 16 bits."""

    levels = FINE_LEVELS


class RnnCell(FloatCell):
    """One gate, whose tanh or positive part is the output."""

    first_weight, gates_per_unit = 2, 1

    def __init__(self, arguments: Sequence[Any], source: float, output: StepRange) -> None:
        self.is_tanh = arguments[6] == "tanh"
        if not self.is_tanh:
            held = Quantization(output.scale, output.zero_point, output.least, output.largest)
            self.gate_range = int16(relu_bits(held), is_fixed=False)
        super().__init__(arguments, source, output)

    def functions(self, gates: Tensor) -> Tensor:
        return gates.tanh() if self.is_tanh else gates.relu()

    def advance(self, gates: Tensor, states: Tensor) -> Stepped:
        return states, torch.ones_like(states)

    def units(self, gates: Tensor, states: Tensor) -> Stepped:
        units = self.functions(gates)[:, 0]
        if self.is_tanh:
            return self.shown(units, _TABLE, 2.0**-UNIT_BITS)
        return self.shown(units, 0.0, self.gate_range.scale)


class FineRnnCell(RnnCell):
    """With weights of 16 bits."""

    levels = FINE_LEVELS


CELLS: dict[Any, Callable[[Sequence[Any], float, StepRange], FloatCell]] = {
    cmbuild.lstm.default: LstmCell,
    cmbuild.lstm_state.default: LstmCell,
    cmbuild.gru.default: GruCell,
    cmbuild.gru_state.default: GruCell,
    cmbuild.short_lstm.default: LstmCell,
    cmbuild.short_lstm_state.default: LstmCell,
    cmbuild.short_gru.default: GruCell,
    cmbuild.short_gru_state.default: GruCell,
    cmbuild.fine_lstm.default: FineLstmCell,
    cmbuild.fine_lstm_state.default: FineLstmCell,
    cmbuild.fine_gru.default: FineGruCell,
    cmbuild.fine_gru_state.default: FineGruCell,
    cmbuild.rnn.default: RnnCell,
    cmbuild.short_rnn.default: RnnCell,
    cmbuild.fine_rnn.default: FineRnnCell,
}
