"""cmbuild::lstm, gru and rnn for torch: one layer in one direction.

Sequences are [steps, batch, numbers], or [batch, steps, numbers] with batch_first. With an initial
state the result has one more step, where the walk through time begins: the initial outputs, which
share the range of the others. The operators ending in _state also return the final state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from cmcompiler.frontend.float_form import float_form
from cmcompiler.frontend.own_operators import declare
from cmcompiler.frontend.quantized_op import QuantizedCall, Replacement, fixed_point, quantized_op
from cmcompiler.frontend.weight_steps import LEVELS, stored_steps
from cmcompiler.ir.quantization import Quantization
from cmcompiler.ops.gru import STATE_BITS
from cmcompiler.ops.lstm import CELL_BITS
from cmcompiler.ops.support.gates import GATE_BITS, UNIT_BITS

if TYPE_CHECKING:
    from torch.fx.node import Argument

UNITS_SCALE = 2.0**-7
"""Scale of the units that a projection reads: below 1 in magnitude."""

LEAST_FACTOR = 2.0**-18
"""Scale of a gate's product: 12 fractional bits are far coarser."""

LARGEST_BIAS = 2.0**28

FINE_LEVELS = LEVELS << 8
"""The largest weight of eight and of 16 bits, of which the upper eight and the rest fit int8."""

LIBRARY: Any = torch.library.Library(  # type: ignore[no-untyped-call]
    "cmbuild", "FRAGMENT"
)
ops: Any = torch.ops.cmbuild

WEIGHTS = "Tensor input_weight, Tensor hidden_weight, Tensor? input_bias, Tensor? hidden_bias"
PLACE = "int slot, bool batch_first, bool reverse"
LSTM = (
    f"(Tensor x, Tensor? hidden, Tensor? cell, {WEIGHTS}, Tensor? projection, int cell_bits, "
    f"{PLACE})"
)
GRU = f"(Tensor x, Tensor? hidden, {WEIGHTS}, int state_bits, {PLACE})"
RNN = f"(Tensor x, Tensor? hidden, {WEIGHTS}, str function, {PLACE})"
for _prefix in ("", "short_", "fine_"):
    for _name, _inputs in ((f"{_prefix}lstm", LSTM), (f"{_prefix}gru", GRU)):
        LIBRARY.define(f"{_name}{_inputs} -> Tensor")
        LIBRARY.define(f"{_name}_state{_inputs} -> (Tensor, Tensor)")
    LIBRARY.define(f"{_prefix}rnn{RNN} -> Tensor")
# Unlike results of aten::cat, its results keep the 16 bits of states.
declare(LIBRARY, "cat_states")
declare(LIBRARY, "quantized_lstm", "quantized_lstm_state", "quantized_gru", "quantized_gru_state")
declare(LIBRARY, "quantized_rnn")

Parameters = tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None]
"""Weights of the input and of the preceding outputs, their biases, and the projection."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a layer is in its module and in memory."""

    slot: int
    batch_first: bool
    reverse: bool

    @property
    def time(self) -> int:
        return int(self.batch_first)

    def initial(self, given: Tensor | None, x: Tensor, size: int) -> Tensor:
        """The state [1, batch, size] to begin with."""
        batch = x.shape[1 - self.time]
        if given is None:
            return x.new_zeros((1, batch, size))
        return given.reshape(-1, batch, size)[self.slot : self.slot + 1]

    def with_initial(self, rows: Tensor, first: Tensor) -> Tensor:
        """Rows with the initial ones [1, batch, outputs] where the walk begins."""
        first = first.transpose(0, 1) if self.batch_first else first
        return torch.cat([rows, first] if self.reverse else [first, rows], self.time)


def _run(
    function: Any, x: Tensor, states: Any, parameters: Parameters, place: Place
) -> tuple[Tensor, ...]:
    """Results of torch's layer: the outputs and the final states, [1, batch, size]."""
    held = [parameter for parameter in parameters if parameter is not None]
    settings = (parameters[2] is not None, 1, 0.0, False, False, place.batch_first)
    x = x.flip(place.time) if place.reverse else x
    rows, *final = function(x, states, held, *settings)
    return (rows.flip(place.time) if place.reverse else rows.contiguous()), *final


def _lstm_state(
    x: Tensor, hidden: Tensor | None, cell: Tensor | None, *others: Any
) -> tuple[Tensor, Tensor]:
    *parameters, _, slot, batch_first, reverse = others
    place = Place(slot, batch_first, reverse)
    gates, outputs = parameters[1].shape
    first = place.initial(hidden, x, outputs), place.initial(cell, x, gates // 4)
    rows, _, final = _run(torch.lstm, x, first, tuple(parameters), place)
    rows = rows if hidden is None else place.with_initial(rows, first[0])
    return rows, final.reshape(final.shape[-(3 if cell is None else cell.ndim) :])


def _recurrent_state(
    function: Any, x: Tensor, hidden: Tensor | None, *others: Any
) -> tuple[Tensor, Tensor]:
    *weights, slot, batch_first, reverse = others
    place = Place(slot, batch_first, reverse)
    first = place.initial(hidden, x, weights[1].shape[1])
    rows, final = _run(function, x, first, (*weights, None), place)
    rows = rows if hidden is None else place.with_initial(rows, first)
    return rows, final.reshape(final.shape[-(3 if hidden is None else hidden.ndim) :])


def _gru_state(*arguments: Any) -> tuple[Tensor, Tensor]:
    *layer, _, slot, batch_first, reverse = arguments
    return _recurrent_state(torch.gru, *layer, slot, batch_first, reverse)


def _rnn(x: Tensor, hidden: Tensor | None, *others: Any) -> Tensor:
    *weights, function, slot, batch_first, reverse = others
    place = (slot, batch_first, reverse)
    layer = getattr(torch, f"rnn_{function}")
    return _recurrent_state(layer, x, hidden, *weights, *place)[0]


def _rows_like(x: Tensor, given: Tensor | None, outputs: int, batch_first: bool) -> Tensor:
    """An empty result, with a step more if there is an initial state."""
    shape = [*x.shape[:2], outputs]
    shape[int(batch_first)] += given is not None
    return x.new_empty(shape)


def _final_like(x: Tensor, given: Tensor | None, units: int, batch_first: bool) -> Tensor:
    """An empty final state, without a dimension of slots if the initial one has none."""
    slots = () if given is not None and given.ndim == 2 else (1,)
    dtype = torch.float32 if x.is_floating_point() else torch.int16
    return x.new_empty((*slots, x.shape[0 if batch_first else 1], units), dtype=dtype)


def _lstm_state_like(
    weight: int, x: Tensor, hidden: Tensor | None, cell: Tensor | None, *others: Any
) -> tuple[Tensor, Tensor]:
    """
    Args:
        weight: position of the matrix for the preceding outputs among the others.
    """
    (gates, outputs), batch_first = others[weight].shape, others[-2]
    rows = _rows_like(x, hidden, outputs, batch_first)
    return rows, _final_like(x, cell, gates // 4, batch_first)


def _recurrent_state_like(
    weight: int, x: Tensor, hidden: Tensor | None, *others: Any
) -> tuple[Tensor, Tensor]:
    outputs, batch_first = others[weight].shape[1], others[-2]
    rows = _rows_like(x, hidden, outputs, batch_first)
    return rows, _final_like(x, hidden, outputs, batch_first)


def _first(compute: Callable[..., tuple[Tensor, Tensor]]) -> Callable[..., Tensor]:
    return lambda *arguments: compute(*arguments)[0]


def _cat_states(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    return torch.cat(list(tensors), dim)


_FORMS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("lstm", "short_lstm", "fine_lstm"), _first(_lstm_state)),
    **dict.fromkeys(("lstm_state", "short_lstm_state", "fine_lstm_state"), _lstm_state),
    **dict.fromkeys(("gru", "short_gru", "fine_gru"), _first(_gru_state)),
    **dict.fromkeys(("gru_state", "short_gru_state", "fine_gru_state"), _gru_state),
    **dict.fromkeys(("rnn", "short_rnn", "fine_rnn"), _rnn),
    "cat_states": _cat_states,
}
for _name, _compute in _FORMS.items():
    float_form(LIBRARY, _name)(_compute)
# The weights for the preceding outputs come after those of the input, which have bias and rescale
# if they are int8.
for _prefix, _weight in (("", 1), ("short_", 1), ("fine_", 1), ("quantized_", 3)):
    for _name, _like in (
        ("lstm", _lstm_state_like),
        ("gru", _recurrent_state_like),
        ("rnn", _recurrent_state_like),
    ):
        _both = partial(_like, _weight)
        torch.library.register_fake(f"cmbuild::{_prefix}{_name}", _first(_both))
        if _name != "rnn":
            torch.library.register_fake(f"cmbuild::{_prefix}{_name}_state", _both)
torch.library.register_fake("cmbuild::cat_states", _cat_states)


LSTM_STATES = {1: None, 2: 2.0**-CELL_BITS}
GRU_STATES = {1: 2.0**-STATE_BITS}
ROWS: tuple[int, ...] = (2, 3)
LSTM_ROWS: tuple[int, ...] = (3, 4, 7)
"""Positions of the matrices that `pack_rows` packs."""


def lower_lstm(call: QuantizedCall) -> Replacement:
    return ops.quantized_lstm.default, _lstm_arguments(call)


def lower_lstm_state(call: QuantizedCall) -> Replacement:
    return ops.quantized_lstm_state.default, _lstm_arguments(call)


def lower_gru(call: QuantizedCall) -> Replacement:
    return ops.quantized_gru.default, _gru_arguments(call)


def lower_gru_state(call: QuantizedCall) -> Replacement:
    return ops.quantized_gru_state.default, _gru_arguments(call)


def lower_fine_lstm(call: QuantizedCall) -> Replacement:
    return ops.quantized_lstm.default, _lstm_arguments(call, FINE_LEVELS)


def lower_fine_lstm_state(call: QuantizedCall) -> Replacement:
    return ops.quantized_lstm_state.default, _lstm_arguments(call, FINE_LEVELS)


def lower_fine_gru(call: QuantizedCall) -> Replacement:
    return ops.quantized_gru.default, _gru_arguments(call, FINE_LEVELS)


def lower_fine_gru_state(call: QuantizedCall) -> Replacement:
    return ops.quantized_gru_state.default, _gru_arguments(call, FINE_LEVELS)


for _operator, _lowering, _is_short, _rows in (
    (ops.lstm, lower_lstm, False, LSTM_ROWS),
    (ops.short_lstm, lower_lstm, True, LSTM_ROWS),
    (ops.fine_lstm, lower_fine_lstm, True, ()),
):
    quantized_op(
        _operator.default,
        constants=range(3, 8),
        states=LSTM_STATES,
        rows=_rows,
        is_short=_is_short,
    )(_lowering)
for _operator, _lowering, _is_short, _rows in (
    (ops.lstm_state, lower_lstm_state, False, LSTM_ROWS),
    (ops.short_lstm_state, lower_lstm_state, True, LSTM_ROWS),
    (ops.fine_lstm_state, lower_fine_lstm_state, True, ()),
):
    quantized_op(
        _operator.default,
        constants=range(3, 8),
        states=LSTM_STATES,
        final=2.0**-CELL_BITS,
        rows=_rows,
        is_short=_is_short,
    )(_lowering)
for _operator, _lowering, _is_short, _rows in (
    (ops.gru, lower_gru, False, ROWS),
    (ops.short_gru, lower_gru, True, ROWS),
    (ops.fine_gru, lower_fine_gru, True, ()),
):
    quantized_op(
        _operator.default,
        constants=range(2, 6),
        states=GRU_STATES,
        rows=_rows,
        is_short=_is_short,
    )(_lowering)
for _operator, _lowering, _is_short, _rows in (
    (ops.gru_state, lower_gru_state, False, ROWS),
    (ops.short_gru_state, lower_gru_state, True, ROWS),
    (ops.fine_gru_state, lower_fine_gru_state, True, ()),
):
    quantized_op(
        _operator.default,
        constants=range(2, 6),
        states=GRU_STATES,
        final=2.0**-STATE_BITS,
        rows=_rows,
        is_short=_is_short,
    )(_lowering)


def lower_rnn(call: QuantizedCall) -> Replacement:
    return ops.quantized_rnn.default, _rnn_arguments(call)


def lower_fine_rnn(call: QuantizedCall) -> Replacement:
    return ops.quantized_rnn.default, _rnn_arguments(call, FINE_LEVELS)


for _operator, _lowering, _is_short, _rows in (
    (ops.rnn, lower_rnn, False, ROWS),
    (ops.short_rnn, lower_rnn, True, ROWS),
    (ops.fine_rnn, lower_fine_rnn, True, ()),
):
    quantized_op(
        _operator.default,
        constants=range(2, 6),
        states={1: None},
        rows=_rows,
        is_short=_is_short,
    )(_lowering)


def _rnn_arguments(call: QuantizedCall, levels: int = LEVELS) -> Sequence[Argument | Tensor]:
    x, hidden, *_, function, slot, batch_first, reverse = call.arguments
    # Gates of a ReLU have the range of its results.
    bits = GATE_BITS if function == "tanh" else relu_bits(call.output)
    result_bits = UNIT_BITS if function == "tanh" else bits
    products = _products(call, 2, bits, levels)
    return (
        *(x, hidden, *products, function, *_narrowing(result_bits, call.output)),
        *(*_initial_scale(call), slot, batch_first, reverse),
    )


def _lstm_arguments(call: QuantizedCall, levels: int = LEVELS) -> Sequence[Argument | Tensor]:
    x, hidden, cell, *_, cell_bits, slot, batch_first, reverse = call.arguments
    output, projection = call.output, call.constants.get(7)
    units = output if projection is None else Quantization(UNITS_SCALE, 0, -128, 127)
    packed: tuple[Tensor | None, ...] = (None, None, None)
    if projection is not None:
        packed = pack_rows(projection, None, units, 1 / output.scale)
    return (
        *(x, hidden, cell, *_products(call, 3, GATE_BITS, levels), *packed, cell_bits),
        *(*_narrowing(2 * UNIT_BITS, units), *_initial_scale(call), output.zero_point),
        *(slot, batch_first, reverse),
    )


def _gru_arguments(call: QuantizedCall, levels: int = LEVELS) -> Sequence[Argument | Tensor]:
    x, hidden, *_, state_bits, slot, batch_first, reverse = call.arguments
    assert isinstance(state_bits, int)
    bits = UNIT_BITS if hidden is None else state_bits
    return (
        *(x, hidden, *_products(call, 2, GATE_BITS, levels), bits, *_narrowing(bits, call.output)),
        *(slot, batch_first, reverse),
    )


def _initial_scale(call: QuantizedCall) -> tuple[int, int]:
    """Multiplier and shift from given initial outputs to int8 ones."""
    given = call.inputs.get(1)
    return (0, 0) if given is None else fixed_point(given.scale / call.output.scale)


def relu_bits(output: Quantization) -> int:
    """Fractional bits of a gate with the range of the output, at least of -1 to 1."""
    ends = output.minimum - output.zero_point, output.maximum - output.zero_point
    largest = max(abs(end) * output.scale for end in ends)
    # The end of a range may exceed what was observed by half a step.
    bits = UNIT_BITS - math.ceil(math.log2(max(largest * 0.995, 1)))
    return min(GATE_BITS if output.maximum <= 127 else UNIT_BITS, max(0, bits))


def _narrowing(bits: int, output: Quantization) -> tuple[int, int, int]:
    return *fixed_point(2.0**-bits / output.scale), output.zero_point


def _products(
    call: QuantizedCall, first: int, bits: int, levels: int = LEVELS
) -> tuple[Tensor, ...]:
    """Packed parameters of the input and of the preceding outputs, for gates of so many bits.

    Args:
        first: position of the input's weights.
        levels: the largest weight, in steps.
    """
    parameters = [call.constants.get(position) for position in range(first, first + 4)]
    input_weight, hidden_weight, input_bias, hidden_bias = parameters
    assert input_weight is not None and hidden_weight is not None
    factor = 2.0**bits
    return (
        *pack_rows(input_weight, input_bias, call.inputs[0], factor, levels),
        *pack_rows(hidden_weight, hidden_bias, call.output, factor, levels),
    )


def row_scales(
    weight: Tensor, bias: Tensor | None, source: float, factor: float, levels: int = LEVELS
) -> Tensor:
    """A scale for each row of weights: see `pack_rows`. What four bits hold is stored so.

    Args:
        source: scale of what is multiplied.
    """
    rows = weight.double()
    added = torch.zeros(len(rows)).double() if bias is None else bias.double()
    least = torch.full((len(rows),), LEAST_FACTOR / (source * factor)).double()
    largest = stored_steps(rows) if levels == LEVELS else rows.abs().amax(dim=1) / LEVELS
    scales = torch.stack([largest, added.abs() / (source * LARGEST_BIAS), least]).amax(dim=0)
    return scales * (LEVELS / levels)


def rounded_rows(weight: Tensor, scales: Tensor, levels: int = LEVELS) -> Tensor:
    """The weights in steps of their rows' scales."""
    return (weight.double() / scales[:, None]).round().clamp(-levels, levels)


def pack_rows(
    weight: Tensor,
    bias: Tensor | None,
    source: Quantization,
    factor: float,
    levels: int = LEVELS,
) -> tuple[Tensor, Tensor, Tensor]:
    """int8 or int16 weights with a scale for each row, biases, multipliers with shifts.

    Biases are int32, or int64 for products of int16 numbers.

    Args:
        source: of what is multiplied.
        factor: steps of the result in a unit.
        levels: the largest weight, in steps.
    """
    scales = row_scales(weight, bias, source.scale, factor, levels)
    packed = rounded_rows(weight, scales, levels)
    added = torch.zeros_like(scales) if bias is None else bias.double()
    biases = (added / (source.scale * scales)).round() - source.zero_point * packed.sum(dim=1)
    rescale = [fixed_point(source.scale * scale * factor) for scale in scales.tolist()]
    return (
        packed.to(torch.int8 if levels == LEVELS else torch.int16),
        biases.to(torch.int64 if source.maximum > 127 else torch.int32),
        torch.tensor(rescale, dtype=torch.int32).T.contiguous(),
    )
