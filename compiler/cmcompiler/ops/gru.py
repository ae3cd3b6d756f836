"""GRU of one layer and direction: cmbuild::quantized_gru."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Int32, Place, Struct
from cmcompiler.ir.op import Array, KernelCall, Scratch, Tensors
from cmcompiler.ir.work import Arguments, Work
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.gates import (
    UNIT_BITS,
    GateProduct,
    Int16Array,
    Narrowing,
    clamp16,
    packed_table,
    sigmoid,
    tanh,
)
from cmcompiler.ops.support.recurrence import (
    PackedLayer,
    Recurrence,
    optional,
    read_narrowing,
    read_sequences,
    shaped_as_final,
    state_of,
    work_by_rows,
)
from cmcompiler.ops.support.requantize import Int8Array
from cmcompiler.ops.support.short_recurrence import PackedShortLayer, short_layer

STATE_BITS = 13
"""Fractional bits of a given state, up to 4."""

PRODUCTS = 3
"""Gates of a product, as in torch: reset, update, new."""

STEP = Microkernel("gru_step_s8", mve=True)
"""The microkernel after the products of a step, which dominate its time."""


@dataclass(frozen=True)
class GruLoop(Arguments):
    """One layer and direction of numbers of any type."""

    layer: Struct
    table: Place
    initial_state: Place
    final_state: Place
    state: Place
    state_bits: Int32
    narrowing: Narrowing


@dataclass(frozen=True)
class GruArguments(GruLoop):
    """One layer and direction."""

    c_name = "cm_gru"

    layer: PackedLayer

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        return work_by_rows(self.layer, macs, outputs, calls, lanes)


@dataclass(frozen=True)
class ShortGruArguments(GruLoop):
    """One layer and direction of int16 numbers."""

    c_name = "cm_gru_s16"

    layer: PackedShortLayer


@dataclass(frozen=True, eq=False)
class Gru(Recurrence):
    """Like an LSTM of CMSIS-NN, with the state in 16 bits.

    Of four gates, new from the input, reset, update and new from the state, the first three take
    the input's product and the last three the state's. With r and z the sigmoids of reset and
    update:

        n = tanh(clamp16(new from the input + ((r · new from the state + 2^14) >> 15)))
        h = (z · h + ((2^15 - z) · n >> (15 - state_bits)) + 2^14) >> 15

    Inputs of the op: the sequence, then the initial state, if given.

    Attributes:
        input_product: its gates are new, reset, update; those of hidden_product reset, update, new.
        state_bits: fractional bits of the int16 state.
        narrowing: of the state to int8 outputs.
        has_final: the final state is the second result.
    """

    label = "gru"
    gates_per_unit = 4

    state_bits: int
    narrowing: Narrowing
    has_final: bool

    @property
    def units(self) -> int:
        return self.hidden_product.depth

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        output, state = self.walk_through(inputs)
        return (output, shaped_as_final(state, inputs)) if self.has_final else (output,)

    def begin(self, inputs: Sequence[Array]) -> tuple[Int8Array | None, Int16Array]:
        given = state_of(inputs, 1, self.slot)
        if given is None:
            return None, np.zeros((self.batch, self.units), np.int16)
        return self.narrowing(given), given

    def gates(self, x: Int8Array, before: Int8Array) -> Int16Array:
        gates = np.zeros((len(x), self.gates_per_unit * self.units), np.int16)
        gates[:, : -self.units] = self.input_product.add(gates[:, : -self.units], x)
        gates[:, self.units :] = self.hidden_product.add(gates[:, self.units :], before)
        return gates.reshape(len(x), self.gates_per_unit, self.units)

    def advance(self, gates: Int16Array, state: Int16Array) -> Int16Array:
        fresh, reset, update, held = gates.swapaxes(0, 1)
        z = sigmoid(update)
        n = tanh(clamp16(fresh + ((sigmoid(reset) * held + (1 << 14)) >> 15)))
        new = ((1 << 15) - z) * n >> (UNIT_BITS - self.state_bits)
        moved: Int16Array = ((z * state + new + (1 << 14)) >> 15).astype(np.int16)
        return moved

    def narrow(self, gates: Int16Array, state: Int16Array) -> Int8Array:
        return self.narrowing(state)

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        states: Mapping[str, Any] = {
            "table": packed_table(),
            "initial_state": optional(inputs, 1, self.slot),
            "final_state": optional(outputs, 1),
            "state": Scratch(2 * self.batch * self.units),
            "state_bits": self.state_bits,
            "narrowing": self.narrowing,
        }
        if self.is_int16:
            loop, filters = short_layer(self, inputs[0], outputs[0], isa)
            short = ShortGruArguments(layer=loop, **states)
            kernel = f"gru{filters.suffix}"
            return [KernelCall.of(kernel, short, microkernel=filters.microkernel)]
        suffix, microkernel = self.family
        layer = self.layer(inputs[0], outputs[0], isa, narrow=self.is_narrow)
        arguments = GruArguments(layer=layer, **states)
        return [KernelCall.of(f"gru{suffix}", arguments, microkernel=microkernel)]


PARAMETERS = (
    "(Tensor input, Tensor? state, Tensor input_weights, Tensor input_bias, Tensor input_rescale, "
    "Tensor hidden_weights, Tensor hidden_bias, Tensor hidden_rescale, int state_bits, "
    "int multiplier, int shift, int zero_point, int slot, bool batch_first, bool reverse, *, "
    "Tensor(a!) out"
)


@program_op(
    f"cmbuild::quantized_gru.out{PARAMETERS})",
    f"cmbuild::quantized_gru_state.out{PARAMETERS}, Tensor(b!) final)",
)
def read(call: Call) -> None:
    has_final = call.operator == "cmbuild::quantized_gru_state.out"
    layer = read_sequences(call, PRODUCTS, not call.is_none("state"), may_be_short=True)
    if layer.units != layer.outputs:
        call.invalid(f"{layer.outputs} outputs of {layer.units} units")
    narrowing = read_narrowing(call, is_short=layer.is_short)
    op = Gru(
        *layer.walked,
        _new_first(layer.input_product),
        layer.hidden_product,
        narrowing.zero_point,
        call.integer("slot", 0),
        call.integer("state_bits", 0, UNIT_BITS),
        narrowing,
        has_final,
    )
    given = [layer.state(call, "state", layer.units)] if layer.walk.has_initial else []
    final = [layer.final(call, "final", given)] if has_final else []
    call.emit(op, [layer.sequence, *given], [layer.output, *final])


def _new_first(product: GateProduct) -> GateProduct:
    """With the last third of its gates first."""
    order = np.roll(np.arange(len(product.weights)), len(product.weights) // PRODUCTS)
    return product.reordered(order)
