"""Elman RNN of one layer and direction: cmbuild::quantized_rnn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from cmcompiler.decode import Call, program_op
from cmcompiler.ir.layout import Place, Struct
from cmcompiler.ir.op import Array, KernelCall, Tensors
from cmcompiler.ir.work import Arguments, Work
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.gates import Int16Array, Narrowing, packed_table, tanh
from cmcompiler.ops.support.recurrence import (
    NONE,
    PackedLayer,
    Recurrence,
    optional,
    read_narrowing,
    read_sequences,
    state_of,
    work_by_rows,
)
from cmcompiler.ops.support.requantize import Int8Array
from cmcompiler.ops.support.short_recurrence import PackedShortLayer, short_layer

FUNCTIONS = ("tanh", "relu")

STEP = Microkernel("rnn_step_s8", mve=True)
"""The microkernel after the products of a step, which dominate its time."""


@dataclass(frozen=True)
class RnnLoop(Arguments):
    """One layer and direction of numbers of any type."""

    layer: Struct
    table: Annotated[Place, "CM_REF_NONE for ReLU"]
    initial_hidden: Place
    narrowing: Narrowing
    initial: Annotated[Narrowing, "of initial outputs"]


@dataclass(frozen=True)
class RnnArguments(RnnLoop):
    """One layer and direction."""

    c_name = "cm_rnn"

    layer: PackedLayer

    def whole(self, macs: int, outputs: int, calls: int, lanes: int) -> Work:
        return work_by_rows(self.layer, macs, outputs, calls, lanes)


@dataclass(frozen=True)
class ShortRnnArguments(RnnLoop):
    """One layer and direction of int16 numbers."""

    c_name = "cm_rnn_s16"

    layer: PackedShortLayer


@dataclass(frozen=True, eq=False)
class Rnn(Recurrence):
    """int8(tanh(gate)) of gates with 12 fractional bits, or int8(max(gate, 0)) of any; or int16.

    Inputs of the op: the sequence, then the initial outputs, if given.

    Attributes:
        function: tanh or relu.
        narrowing: of the function's results to outputs.
        initial: of given outputs to these.
    """

    label = "rnn"
    gates_per_unit = 1
    function: str
    narrowing: Narrowing
    initial: Narrowing

    @property
    def units(self) -> int:
        return self.hidden_product.depth

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return (self.walk_through(inputs)[0],)

    def begin(self, inputs: Sequence[Array]) -> tuple[Int8Array | None, Int16Array]:
        given = state_of(inputs, 1, self.slot)
        stateless = np.zeros((self.batch, 0), np.int16)
        return None if given is None else self.initial(given), stateless

    def gates(self, x: Int8Array, before: Int8Array) -> Int16Array:
        gates = self.input_product.add(np.zeros((len(x), self.units), np.int16), x)
        return self.hidden_product.add(gates, before)[:, np.newaxis]

    def advance(self, gates: Int16Array, state: Int16Array) -> Int16Array:
        return state

    def narrow(self, gates: Int16Array, state: Int16Array) -> Int8Array:
        own = gates[:, 0]
        return self.narrowing(tanh(own) if self.function == "tanh" else np.maximum(own, 0))

    def kernel_calls(self, inputs: Tensors, outputs: Tensors, isa: Isa) -> Sequence[KernelCall]:
        results: Mapping[str, Any] = {
            "table": packed_table() if self.function == "tanh" else NONE,
            "initial_hidden": optional(inputs, 1, self.slot),
            "narrowing": self.narrowing,
            "initial": self.initial,
        }
        if self.is_int16:
            loop, filters = short_layer(self, inputs[0], outputs[0], isa)
            short = ShortRnnArguments(layer=loop, **results)
            return [KernelCall.of(f"rnn{filters.suffix}", short, microkernel=filters.microkernel)]
        suffix, microkernel = self.family
        layer = self.layer(inputs[0], outputs[0], isa, narrow=self.is_narrow)
        arguments = RnnArguments(layer=layer, **results)
        return [KernelCall.of(f"rnn{suffix}", arguments, microkernel=microkernel)]


@program_op(
    "cmbuild::quantized_rnn.out(Tensor input, Tensor? hidden, Tensor input_weights, "
    "Tensor input_bias, Tensor input_rescale, Tensor hidden_weights, Tensor hidden_bias, "
    "Tensor hidden_rescale, str function, int multiplier, int shift, int zero_point, "
    "int initial_multiplier, int initial_shift, int slot, bool batch_first, bool reverse, "
    "*, Tensor(a!) out)"
)
def read(call: Call) -> None:
    layer = read_sequences(call, 1, not call.is_none("hidden"), may_be_short=True)
    if layer.units != layer.outputs:
        call.invalid(f"{layer.outputs} outputs of {layer.units} units")
    function = call.string("function")
    if function not in FUNCTIONS:
        call.unsupported(f"function {function}")
    narrowing = read_narrowing(call, is_short=layer.is_short)
    op = Rnn(
        *layer.walked,
        layer.input_product,
        layer.hidden_product,
        narrowing.zero_point,
        call.integer("slot", 0),
        function,
        narrowing,
        read_narrowing(call, "initial_", is_short=layer.is_short),
    )
    given = [layer.state(call, "hidden", layer.units)] if layer.walk.has_initial else []
    call.emit(op, [layer.sequence, *given], [layer.output])
