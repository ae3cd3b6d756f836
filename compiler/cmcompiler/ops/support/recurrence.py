"""Recurrent layers: one layer in one direction, with the loop over time in the kernel.

Arithmetic: a step adds the products of its input row and of the preceding output row to zeroed
gates, each saturated to int16; what follows is the op's own. States that are given are int16.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Annotated, ClassVar

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.layout import INLINE, Int32, Place, Struct
from cmcompiler.ir.op import Address, Array, Op, Scratch, Tensors, Word
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ir.work import Work, filled, plain
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support import packing
from cmcompiler.ops.support.convolution import check_depth
from cmcompiler.ops.support.gates import GateProduct, Int16Array, Narrowing, PackedProduct
from cmcompiler.ops.support.parameters import INT32_MAX, read_zero_point
from cmcompiler.ops.support.requantize import LONGEST_SHIFT, Int8Array, Rounding
from cmcompiler.ops.support.short_gates import FineGateProduct, ShortGateProduct, ShortNarrowing

NONE = 0xFFFFFFFF
"""CM_REF_NONE of cmrt/program.h."""


@dataclass(frozen=True)
class LoopSizes(Struct):
    """How far a loop over time goes, with numbers of any type."""

    units: Int32
    steps: Int32
    batch: Int32
    input_step: Int32
    input_batch: Int32
    output_step: Int32
    output_batch: Int32


@dataclass(frozen=True)
class PackedLayer(Struct):
    """The loop over time. Steps are in bytes and negative if time runs backwards: the first row of
    input and output is that of the step computed first.
    """

    c_name = "cm_recurrence"

    input: Place
    output: Place
    gates: Place
    workspace: Place
    blank: Annotated[Place, "zero points; CM_REF_NONE if initial outputs precede the first output"]
    input_product: PackedProduct
    hidden_product: PackedProduct
    sizes: Annotated[LoopSizes, INLINE]
    zero_point: Int32


def work_by_rows(layer: PackedLayer, macs: int, outputs: int, calls: int, lanes: int) -> Work:
    """All work of a layer that computes one row of gates after the other: its portions.

    Columns are units whose gates are rescaled in more than one step, once for either product.
    """
    products, sizes = (layer.input_product, layer.hidden_product), layer.sizes
    rows = sizes.steps * sizes.batch
    in_vectors = sum(filled(each.depth, lanes) for each in products)
    general = sum(each.rounding == Rounding.GENERAL for each in products)
    return plain(macs, outputs, calls, lanes)._replace(
        filled=macs * in_vectors / sum(each.depth for each in products),
        portions=rows,
        columns=rows * sizes.units * general,
    )


@dataclass(frozen=True, slots=True)
class Walk:
    """How a layer walks through its sequence.

    Attributes:
        is_batch_first: tensors are [batch, steps, numbers], else [steps, batch, numbers].
        is_reverse: from the last step to the first.
        has_initial: a state is given. Then the output has one more step, where the walk begins,
            which holds the initial outputs.
    """

    is_batch_first: bool
    is_reverse: bool
    has_initial: bool

    @property
    def time(self) -> int:
        """The dimension of steps."""
        return int(self.is_batch_first)

    def rows(self, array: Array) -> Array:
        """A view with steps first, in the order of the walk."""
        ordered = np.moveaxis(array, self.time, 0)
        return ordered[::-1] if self.is_reverse else ordered

    def start(self, tensor: Tensor, skipped: int = 0) -> tuple[Address, int, int]:
        """The first row after some, and bytes from step to step and from batch to batch."""
        steps, batch, row = tensor.shape[self.time], tensor.shape[1 - self.time], tensor.shape[2]
        row *= tensor.dtype.itemsize
        step, across = (row, steps * row) if self.is_batch_first else (batch * row, row)
        first = steps - 1 - skipped if self.is_reverse else skipped
        return Address(tensor, first * step), -step if self.is_reverse else step, across


@dataclass(frozen=True, eq=False, slots=True)
class Turns:
    """All that a layer holds from turn to turn of its walk, so that each turn can be compared.

    Attributes:
        rows: outputs, int8 [turns + 1, batch, outputs], from those before the first turn.
        states: int16 [turns + 1, batch, size], likewise.
        gates: int16 [turns, batch, gates, units].
        narrowed: the units that a projection reads, or else outputs: int8 [turns, batch, units].
    """

    rows: Int8Array
    states: Int16Array
    gates: Int16Array
    narrowed: Int8Array


@dataclass(frozen=True, eq=False)
class Recurrence(Op):
    """The base of LSTM, GRU and RNN.

    Attributes:
        input_product, hidden_product: from an input row and from the preceding output row.
        zero_point: of the output.
        slot: of the layer's initial states among those given.
    """

    # For a whole sequence; the comparison with the float model takes each turn on its own.
    error_steps = 1.4
    fine_error_steps = 4.0

    gates_per_unit: ClassVar[int]

    walk: Walk
    steps: int
    batch: int
    input_product: GateProduct
    hidden_product: GateProduct
    zero_point: int
    slot: int

    @property
    @abstractmethod
    def units(self) -> int:
        """Number of units of the gates; a projection may have fewer outputs."""

    @property
    def macs(self) -> int:
        weights = self.input_product.weights.size + self.hidden_product.weights.size
        return self.steps * self.batch * weights

    @abstractmethod
    def begin(self, inputs: Sequence[Array]) -> tuple[Int8Array | None, Int16Array]:
        """The initial outputs [batch, outputs], None if not given, and state [batch, size]."""

    @abstractmethod
    def gates(self, x: Int8Array, before: Int8Array) -> Int16Array:
        """The gates [rows, gates, units] of input rows and the preceding output rows."""

    @abstractmethod
    def advance(self, gates: Int16Array, state: Int16Array) -> Int16Array:
        """The state [rows, size] after a step."""

    @abstractmethod
    def narrow(self, gates: Int16Array, state: Int16Array) -> Int8Array:
        """The units [rows, units] that gates show of the state after a step."""

    def project(self, units: Int8Array) -> Int8Array:
        """The output rows."""
        return units

    def walk_through(self, inputs: Sequence[Array]) -> tuple[Int8Array, Int16Array]:
        """The output for the op's inputs, and the final state."""
        initial, state = self.begin(inputs)
        row = self._blank if initial is None else initial
        output = [] if initial is None else [initial]
        for x in self.walk.rows(inputs[0]):
            gates = self.gates(x, row)
            state = self.advance(gates, state)
            row = self.project(self.narrow(gates, state))
            output.append(row)
        ordered = np.stack(output[::-1] if self.walk.is_reverse else output)
        return np.ascontiguousarray(np.moveaxis(ordered, 0, self.walk.time)), state

    def turns(self, inputs: Sequence[Array], output: Int8Array) -> Turns:
        """The layer's turns from the op's inputs to its output."""
        initial, state = self.begin(inputs)
        sequence, rows = self.walk.rows(inputs[0]), self.walk.rows(output)
        if initial is None:
            rows = np.concatenate([self._blank[np.newaxis], rows])
        turns, batch, width = sequence.shape
        flat = turns * batch
        gates = self.gates(sequence.reshape(flat, width), rows[:-1].reshape(flat, -1))
        states = [state]
        for own in gates.reshape(turns, batch, *gates.shape[1:]):
            states.append(self.advance(own, states[-1]))
        held = np.stack(states)
        narrowed = self.narrow(gates, held[1:].reshape(flat, -1))
        return Turns(
            rows,
            held,
            gates.reshape(turns, batch, *gates.shape[1:]),
            narrowed.reshape(turns, batch, -1),
        )

    @property
    def is_int16(self) -> bool:
        """Inputs and outputs are int16."""
        return isinstance(self.input_product, ShortGateProduct)

    @property
    def _blank(self) -> Int8Array:
        """The outputs before the first step if none are given: zeros."""
        dtype = np.int16 if self.is_int16 else np.int8
        return np.full((self.batch, self.hidden_product.depth), self.zero_point, dtype)

    def loop(self, sequence: Tensor, output: Tensor) -> tuple[Address, Address, LoopSizes]:
        """The rows of input and output that the loop begins with, and its sizes."""
        first, input_step, input_batch = self.walk.start(sequence)
        result, output_step, output_batch = self.walk.start(output, int(self.walk.has_initial))
        sizes = LoopSizes(
            units=self.units,
            steps=self.steps,
            batch=self.batch,
            input_step=input_step,
            input_batch=input_batch,
            output_step=output_step,
            output_batch=output_batch,
        )
        return first, result, sizes

    @property
    def is_narrow(self) -> bool:
        """Whether flash holds weights of four bits."""
        return self.input_product.bank.is_narrow or self.hidden_product.bank.is_narrow

    @property
    def family(self) -> tuple[str, Microkernel]:
        """The end of the kernel's name for int8 numbers, and its microkernel."""
        return ("_w4", packing.NARROW_GEMV16) if self.is_narrow else ("", packing.GEMV16)

    def layer(
        self, sequence: Tensor, output: Tensor, isa: Isa, *, narrow: bool = False
    ) -> PackedLayer:
        """Arguments of the kernel's loop over time.

        Args:
            narrow: for kernels that take weights of four bits.
        """
        first, result, sizes = self.loop(sequence, output)
        outputs = self.hidden_product.depth
        depth = max(self.input_product.depth, outputs, self.units)
        banks = [each.bank for each in (self.input_product, self.hidden_product)]
        unpacked = (packing.narrow_gates_workspace(bank, isa) for bank in banks)
        room = max(unpacked) if narrow else 0
        return PackedLayer(
            input=first,
            output=result,
            gates=Scratch(2 * self.gates_per_unit * self.units),
            workspace=Scratch(room + packing.gemv_workspace(depth, isa)),
            blank=NONE if self.walk.has_initial else Scratch(outputs),
            input_product=self.input_product.packed(isa, narrow=narrow),
            hidden_product=self.hidden_product.packed(isa, narrow=narrow),
            sizes=sizes,
            zero_point=self.zero_point,
        )


def state_of(inputs: Sequence[Array], position: int, slot: int) -> Int16Array | None:
    """The initial state [batch, size] among several, if given."""
    if position >= len(inputs):
        return None
    *_, batch, size = inputs[position].shape
    state: Int16Array = inputs[position].reshape(-1, batch, size)[slot]
    return state


def optional(tensors: Tensors, position: int, slot: int = 0) -> Word:
    """The address of a tensor that may be missing, or of one of several states in it."""
    if position >= len(tensors):
        return NONE
    tensor = tensors[position]
    return Address(tensor, slot * prod(tensor.shape[-2:]) * tensor.dtype.itemsize)


def shaped_as_final(state: Int16Array, inputs: Sequence[Array]) -> Int16Array:
    """Without a dimension of slots if the initial states have none."""
    return state if inputs[1:] and inputs[-1].ndim == 2 else state[np.newaxis]


@dataclass(frozen=True, slots=True)
class Sequences:
    """The arguments that all recurrent layers have in common, checked.

    Attributes:
        units: gates divided by the number for each unit.
    """

    walk: Walk
    sequence: Tensor
    output: Tensor
    input_product: GateProduct
    hidden_product: GateProduct
    units: int

    @property
    def is_short(self) -> bool:
        """The sequences are int16."""
        return self.output.dtype == np.int16

    @property
    def batch(self) -> int:
        return self.output.shape[1 - self.walk.time]

    @property
    def steps(self) -> int:
        return self.sequence.shape[self.walk.time]

    @property
    def outputs(self) -> int:
        return self.output.shape[2]

    @property
    def walked(self) -> tuple[Walk, int, int]:
        """The first fields of a Recurrence."""
        return self.walk, self.steps, self.batch

    def state(self, call: Call, name: str, size: int) -> Tensor:
        """Initial states: int16 [slots, batch, size], or [batch, size] for a single one."""
        operand = call.tensor(name, dtype=np.int16)
        slots = 1 if operand.rank == 2 else operand.shape[0] if operand.rank == 3 else 0
        call.integer("slot", 0, slots - 1)
        if operand.shape[-2:] != (self.batch, size):
            call.invalid(f"{name} has shape {list(operand.shape)} for {[self.batch, size]}")
        return call.arrange(operand, range(operand.rank))

    def final(self, call: Call, name: str, initial: Sequence[Tensor]) -> Tensor:
        """A final state to write: int16 [1, batch, units], or [batch, units] if the initial ones,
        given here, have no dimension of slots.
        """
        operand = call.output(name, dtype=np.int16)
        is_flat = bool(initial) and len(initial[-1].shape) == 2
        shape = (self.batch, self.units) if is_flat else (1, self.batch, self.units)
        if operand.shape != shape:
            call.invalid(f"{name} has shape {list(operand.shape)} for {list(shape)}")
        return call.arranged_output(operand, range(operand.rank))


def read_sequences(
    call: Call, gates: int, has_initial: bool, *, may_be_short: bool = False
) -> Sequences:
    """Input, output and products.

    Args:
        gates: for each unit, of both products.
        may_be_short: the sequences may be int16.
    """
    is_short = may_be_short and call.tensor("input").dtype == np.int16
    dtype = np.int16 if is_short else np.int8
    operand = call.tensor("input", dtype=dtype, rank=3)
    result = call.output("out", dtype=dtype)
    walk = Walk(call.boolean("batch_first"), call.boolean("reverse"), has_initial)
    if result.rank != 3 or 0 in (*operand.shape, *result.shape):
        call.unsupported(f"{list(operand.shape)} to {list(result.shape)}")
    expected = list(operand.shape)
    expected[walk.time] += has_initial
    if list(result.shape[:2]) != expected[:2]:
        call.invalid(f"out has shape {list(result.shape)} for an input of {list(operand.shape)}")
    products = [
        read_product(call, "input", operand.shape[2], is_short=is_short),
        read_product(call, "hidden", result.shape[2], is_short=is_short),
    ]
    rows = len(products[0].weights)
    if rows % gates or rows == 0 or len(products[1].weights) != rows:
        call.invalid(f"{rows} and {len(products[1].weights)} gates")
    return Sequences(
        walk,
        call.arrange(operand, range(3)),
        call.arranged_output(result, range(3)),
        products[0],
        products[1],
        rows // gates,
    )


def read_product(call: Call, name: str, depth: int, *, is_short: bool = False) -> GateProduct:
    is_fine = is_short and call.tensor(f"{name}_weights").dtype == np.int16
    weights = call.constant(f"{name}_weights", dtype=np.int16 if is_fine else np.int8, rank=2)
    if weights.shape[1] != depth:
        call.invalid(f"{name}_weights have shape {list(weights.shape)} for rows of {depth}")
    check_depth(call, depth)
    bias = call.constant(f"{name}_bias", dtype=np.int64 if is_short else np.int32, rank=1)
    multipliers, shifts = read_rescale_rows(call, f"{name}_rescale", len(weights))
    if len(bias) != len(weights):
        call.invalid(f"{name}_bias has shape {list(bias.shape)}")
    if not is_short:
        return GateProduct(weights, bias, multipliers, shifts)
    try:
        make = FineGateProduct.of if is_fine else ShortGateProduct.checked
        return make(weights, bias, multipliers, shifts)
    except ValueError as error:
        call.unsupported(str(error))


def read_rescale_rows(call: Call, name: str, count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Multipliers and shifts, int32 [2, count]; a shift below -31 becomes a multiplier of 0."""
    rescale = call.constant(name, dtype=np.int32, rank=2)
    if rescale.shape != (2, count):
        call.invalid(f"{name} has shape {list(rescale.shape)}, not {[2, count]}")
    multipliers, shifts = (row.astype(np.int64) for row in rescale)
    if count and (multipliers.min() < 0 or shifts.max() > LONGEST_SHIFT):
        call.invalid(f"{name} has a negative multiplier or a shift above {LONGEST_SHIFT}")
    is_zero = shifts < -LONGEST_SHIFT
    kept = np.where(is_zero, 0, multipliers), np.where(is_zero, 0, shifts)
    return tuple(kept[0].tolist()), tuple(kept[1].tolist())


def read_narrowing(
    call: Call, prefix: str = "", zero_point: str = "zero_point", *, is_short: bool = False
) -> Narrowing:
    """From the arguments <prefix>multiplier and <prefix>shift, and a zero point.

    Args:
        is_short: to int16, whose zero point is 0.
    """
    shift = call.integer(f"{prefix}shift", None, LONGEST_SHIFT)
    multiplier = call.integer(f"{prefix}multiplier", 0, INT32_MAX)
    scale = (multiplier, shift) if shift >= -LONGEST_SHIFT else (0, 0)
    if not is_short:
        return Narrowing(*scale, read_zero_point(call, zero_point))
    if call.integer(zero_point):
        call.invalid(f"{zero_point} of int16 numbers is not 0")
    return ShortNarrowing(*scale, 0)
