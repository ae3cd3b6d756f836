"""LSTM of one layer and direction: cmbuild::quantized_lstm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import INLINE, Int32, Place, Struct
from cmcompiler.ir.op import Array, KernelCall, Packed, Scratch, Tensors
from cmcompiler.ir.work import Arguments, Work
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support import packing
from cmcompiler.ops.support.arguments import OutputValues
from cmcompiler.ops.support.convolution import check_depth
from cmcompiler.ops.support.filters import Filters
from cmcompiler.ops.support.gates import (
    MOST_BEYOND,
    Int16Array,
    Narrowing,
    WideArray,
    clamp16,
    packed_table,
    sigmoid,
    tanh,
)
from cmcompiler.ops.support.packing import GEMV16
from cmcompiler.ops.support.recurrence import (
    NONE,
    PackedLayer,
    Recurrence,
    Sequences,
    optional,
    read_narrowing,
    read_rescale_rows,
    read_sequences,
    shaped_as_final,
    state_of,
    work_by_rows,
)
from cmcompiler.ops.support.requantize import (
    Int8Array,
    Int32Array,
    Range,
    Requantize,
    Rounding,
    rounding_shift_right,
)
from cmcompiler.ops.support.short_recurrence import PackedShortLayer, short_layer

GATES = 4

MOST_CELL_BITS = 12

FINEST_CELL_BITS = 28
"""Fractional bits of cells with a limit: products of gates have 30."""

CELL_BITS = 11
"""Fractional bits of cells within ±16: they grow by less than one in a step."""

BEYOND = 256
"""The unit of `Lstm.beyond` in an operator's argument, which has the bits of cells below it."""

STEP = Microkernel("lstm_step_s8", mve=True)
"""The microkernel after the products of a step, which dominate its time."""


@dataclass(frozen=True)
class PackedProjection(Struct):
    """Outputs from the units' int8 results; `weights` is CM_REF_NONE if these are the outputs."""

    c_name = "cm_projection"

    weights: Place
    units: Place
    outputs: Int32
    values: Annotated[OutputValues, INLINE]


@dataclass(frozen=True)
class LstmLoop(Arguments):
    """One layer and direction of numbers of any type."""

    layer: Struct
    table: Place
    initial_hidden: Place
    initial_cell: Place
    final_cell: Place
    cell: Place
    cell_bits: Int32
    narrowing: Narrowing


@dataclass(frozen=True)
class LstmArguments(LstmLoop):
    """One layer and direction, with a projection of its outputs if there is one."""

    c_name = "cm_lstm"

    layer: PackedLayer
    projection: PackedProjection
    initial: Annotated[Narrowing, "of initial outputs"]

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        return work_by_rows(self.layer, macs, outputs, calls, lanes)


@dataclass(frozen=True)
class ShortLstmArguments(LstmLoop):
    """One layer and direction of int16 numbers."""

    c_name = "cm_lstm_s16"

    layer: PackedShortLayer
    initial: Annotated[Narrowing, "of initial outputs"]


@dataclass(frozen=True)
class ClippedLstmArguments(Arguments):
    """A layer whose cells are clipped in both directions."""

    c_name = "cm_lstm_clipped"

    lstm: LstmArguments
    cell_limit: Int32

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        return self.lstm.whole(macs, outputs, calls, lanes)


@dataclass(frozen=True)
class ShortClippedLstmArguments(Arguments):
    """A layer of int16 numbers whose cells are clipped in both directions."""

    c_name = "cm_lstm_s16_clipped"

    lstm: ShortLstmArguments
    cell_limit: Int32


@dataclass(frozen=True, eq=False)
class Projection:
    """Rows of units to rows of outputs.

    Attributes:
        weights: int8 [outputs, units].
        bias: int32 [outputs], with the units' zero point folded in.
    """

    weights: Int8Array
    bias: Int32Array
    requantize: Requantize

    def __call__(self, units: Int8Array) -> Int8Array:
        sums = units.astype(np.int64) @ self.weights.T.astype(np.int64) + self.bias
        return self.requantize(sums)


@dataclass(frozen=True, eq=False)
class Lstm(Recurrence):
    """Arithmetic: CMSIS-NN's arm_lstm_unidirectional_s8, with a multiplier for each gate's row.

    With int16 activations, products have sums of 64 bits and units have no zero point.

    Gates are input, forget, cell and output, as in torch. Inputs of the op: the sequence, then the
    initial outputs and cells, if given.

    Attributes:
        cell_bits: fractional bits of the int16 cell state.
        narrowing: of output gate · tanh(cell), 30 fractional bits, to int8 units.
        initial: of given outputs to int8.
        has_final: the final cells are the second result.
        cell_limit: the largest magnitude of a cell; None for what int16 holds.
        beyond: what sigmoid of the largest gate has more: see `gates.table`.
    """

    label = "lstm"
    gates_per_unit = GATES

    cell_bits: int
    narrowing: Narrowing
    projection: Projection | None
    initial: Narrowing
    has_final: bool
    cell_limit: int | None = None
    beyond: int = 0

    @property
    def units(self) -> int:
        return len(self.input_product.weights) // GATES

    @property
    def macs(self) -> int:
        projected = 0 if self.projection is None else self.projection.weights.size
        return super().macs + self.steps * self.batch * projected

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        output, cell = self.walk_through(inputs)
        return (output, shaped_as_final(cell, inputs)) if self.has_final else (output,)

    def begin(self, inputs: Sequence[Array]) -> tuple[Int8Array | None, Int16Array]:
        hidden, cell = (state_of(inputs, position, self.slot) for position in (1, 2))
        row = None if hidden is None else self.initial(hidden)
        return row, np.zeros((self.batch, self.units), np.int16) if cell is None else cell

    def gates(self, x: Int8Array, before: Int8Array) -> Int16Array:
        gates = self.input_product.add(np.zeros((len(x), GATES * self.units), np.int16), x)
        return self.hidden_product.add(gates, before).reshape(len(x), GATES, self.units)

    def advance(self, gates: Int16Array, state: Int16Array) -> Int16Array:
        entry, forget, fresh, _ = gates.swapaxes(0, 1)
        # Halving rounds up, the shift rounds away from zero: CMSIS-NN's way to a power of two.
        kept = rounding_shift_right((self._sigmoid(forget) * state + 1) >> 1, 14)
        product = self._sigmoid(entry) * tanh(fresh, beyond=self.beyond)
        added = rounding_shift_right((product + 1) >> 1, 29 - self.cell_bits)
        cell = clamp16(kept.astype(np.int64) + added)
        if self.cell_limit is not None:
            cell = np.clip(cell, -self.cell_limit, self.cell_limit)
        return cell

    def narrow(self, gates: Int16Array, state: Int16Array) -> Int8Array:
        shown = tanh(state, self.cell_bits, self.beyond)
        return self.narrowing(self._sigmoid(gates[:, -1]) * shown)

    def _sigmoid(self, gate: Int16Array) -> WideArray:
        return sigmoid(gate, self.beyond)

    def project(self, units: Int8Array) -> Int8Array:
        return units if self.projection is None else self.projection(units)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        states: Mapping[str, Any] = {
            "table": packed_table(self.beyond),
            "initial_hidden": optional(inputs, 1, self.slot),
            "initial_cell": optional(inputs, 2, self.slot),
            "final_cell": optional(outputs, 1),
            "cell": Scratch(2 * self.batch * self.units),
            "cell_bits": self.cell_bits,
            "narrowing": self.narrowing,
            "initial": self.initial,
        }
        if self.is_int16:
            return [self._short_call(inputs, outputs, isa, states)]
        narrow = self.is_narrow and self.cell_limit is None
        arguments = LstmArguments(
            layer=self.layer(inputs[0], outputs[0], isa, narrow=narrow),
            projection=self._packed_projection(isa),
            **states,
        )
        if self.cell_limit is not None:
            clipped = ClippedLstmArguments(arguments, self.cell_limit)
            return [KernelCall.of("lstm_clipped", clipped, microkernel=GEMV16, family="lstm")]
        suffix, microkernel = self.family
        return [KernelCall.of(f"lstm{suffix}", arguments, microkernel=microkernel)]

    def _short_call(
        self, inputs: Tensors, outputs: Tensors, isa: Isa, states: Mapping[str, Any]
    ) -> KernelCall:
        is_clipped = self.cell_limit is not None
        layer, filters = short_layer(self, inputs[0], outputs[0], isa, may_be_narrow=not is_clipped)
        kernel, microkernel = f"lstm{filters.suffix}", filters.microkernel
        short = ShortLstmArguments(layer=layer, **states)
        if self.cell_limit is None:
            return KernelCall.of(kernel, short, microkernel=microkernel)
        clipped = ShortClippedLstmArguments(short, self.cell_limit)
        return KernelCall.of(f"{kernel}_clipped", clipped, microkernel=microkernel, family=kernel)

    def _packed_projection(self, isa: Isa) -> PackedProjection:
        own = self.projection
        if own is None:
            return PackedProjection(NONE, NONE, 0, OutputValues(0, 0, 0, 0))
        filters = Filters.of(own.weights, own.bias, own.requantize)
        if filters.clamp_suffix(isa):  # A step has no loop that clamps what saturates to int8.
            filters = replace(filters, rounding=Rounding.GENERAL)
        weights = Packed(packing.gemv_weights(filters, isa))
        values = OutputValues(**dict(filters.product_arguments(isa)))
        return PackedProjection(weights, Scratch(self.units), len(own.weights), values)


PARAMETERS = (
    "(Tensor input, Tensor? hidden, Tensor? cell, Tensor input_weights, Tensor input_bias, "
    "Tensor input_rescale, Tensor hidden_weights, Tensor hidden_bias, Tensor hidden_rescale, "
    "Tensor? projection_weights, Tensor? projection_bias, Tensor? projection_rescale, "
    "int cell_bits, int multiplier, int shift, int zero_point, int initial_multiplier, "
    "int initial_shift, int output_zero_point, int slot, bool batch_first, bool reverse, "
    "*, Tensor(a!) out"
)


@program_op(
    f"cmbuild::quantized_lstm.out{PARAMETERS})",
    f"cmbuild::quantized_lstm_state.out{PARAMETERS}, Tensor(b!) final)",
)
def read(call: Call) -> None:
    has_final = call.operator == "cmbuild::quantized_lstm_state.out"
    has_initial = not call.is_none("hidden")
    layer = read_sequences(call, GATES, has_initial, may_be_short=True)
    inputs, outputs = [layer.sequence], [layer.output]
    if has_initial:
        inputs += [
            layer.state(call, "hidden", layer.outputs),
            layer.state(call, "cell", layer.units),
        ]
    elif not call.is_none("cell"):
        call.invalid("cell without hidden")
    if has_final:
        outputs.append(layer.final(call, "final", inputs[1:]))
    narrowing = read_narrowing(call, is_short=layer.is_short)
    initial = read_narrowing(call, "initial_", "output_zero_point", is_short=layer.is_short)
    zero_point = initial.zero_point
    projection = _read_projection(call, layer, zero_point)
    if projection is None and narrowing.zero_point != zero_point:
        call.invalid(f"zero points {narrowing.zero_point} and {zero_point} of one tensor")
    beyond, cell_bits = divmod(call.integer("cell_bits", 0), BEYOND)
    if cell_bits > MOST_CELL_BITS or beyond > MOST_BEYOND:
        call.invalid(f"cell_bits is {beyond * BEYOND + cell_bits}")
    op = Lstm(
        *layer.walked,
        layer.input_product,
        layer.hidden_product,
        zero_point,
        call.integer("slot", 0),
        cell_bits,
        narrowing,
        projection,
        initial,
        has_final,
        beyond=beyond,
    )
    call.emit(op, inputs, outputs)


def _read_projection(call: Call, layer: Sequences, zero_point: int) -> Projection | None:
    if layer.is_short and not call.is_none("projection_weights"):
        call.unsupported("a projection of int16 numbers")
    if call.is_none("projection_weights"):
        if layer.units != layer.outputs:
            call.invalid(f"{layer.outputs} outputs of {layer.units} units")
        return None
    weights = call.constant("projection_weights", dtype=np.int8, rank=2)
    bias = call.constant("projection_bias", dtype=np.int32, rank=1)
    count = layer.outputs
    if weights.shape != (count, layer.units) or bias.shape != (count,):
        call.invalid(f"projection of shapes {list(weights.shape)} and {list(bias.shape)}")
    check_depth(call, layer.units)
    multipliers, shifts = read_rescale_rows(call, "projection_rescale", count)
    requantize = Requantize(multipliers, shifts, zero_point, Range(-128, 127))
    return Projection(weights, bias, requantize)
