"""UNIDIRECTIONAL_SEQUENCE_LSTM and SVDF."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.ir.movement.loops import Strided
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.operand import Operand
from cmcompiler.ops.lstm import FINEST_CELL_BITS, MOST_CELL_BITS, Lstm
from cmcompiler.ops.support.convolution import check_depth
from cmcompiler.ops.support.gates import GATE_BITS, GateProduct, Narrowing
from cmcompiler.ops.support.movement import move
from cmcompiler.ops.support.recurrence import Walk
from cmcompiler.ops.support.requantize import Int8Array, Int32Array, wrap32
from cmcompiler.ops.support.short_gates import ShortGateProduct, ShortNarrowing
from cmcompiler.ops.svdf import Svdf
from cmcompiler.ops.tflite._scales import (
    FusedActivation,
    Scale,
    product_factor,
    quantize_multiplier,
    read_channel_scales,
    read_scale,
    rescale,
    tflite_op,
)
from cmcompiler.ops.two_slopes import TwoSlopes

_GATES = ("input", "forget", "cell", "output")
LARGEST_CELL = (1 << 15) - 1

_TANH = 4
"""The code of a fused activation."""

_ABSENT = (
    "cell_to_input",
    "cell_to_forget",
    "cell_to_output",
    "projection",
    "projection_bias",
    *(f"{gate}_norm" for gate in _GATES),
)


@tflite_op("UNIDIRECTIONAL_SEQUENCE_LSTM")
def read_lstm(call: Call) -> None:
    """Each run starts from zero, unless the reader keeps the file's variables of state."""
    is_short = call.element("input") == np.int16
    element = np.dtype(np.int16 if is_short else np.int8)
    sequence = call.tensor("input", dtype=element, rank=3)
    output = call.output("out", dtype=element)
    if call.element("hidden") != element:
        call.wrong_type(f"hidden is {call.element('hidden').name}, not {element.name}")
    for name in _ABSENT:
        if not call.is_none(name):
            call.unsupported(f"it has {name}")
    if call.integer("activation") != _TANH:
        call.unsupported(f"fused activation {call.integer('activation')}, not tanh")
    if call.boolean("diagonal") or call.number("projection_clip") != 0:
        call.unsupported("it has a diagonal or clipped projection")
    source, hidden = read_scale(call, "input"), read_scale(call, "hidden")
    units, features = call.constant("input_to_forget", rank=2).shape
    is_batch_first = not call.boolean("time_major")
    batch, steps = sequence.shape[:2] if is_batch_first else sequence.shape[1::-1]
    if sequence.shape[2] != features or output.shape != (*sequence.shape[:2], units):
        call.invalid(f"{list(sequence.shape)} to {list(output.shape)} with {units} units")
    if 0 in (*sequence.shape, units):
        call.unsupported(f"{list(sequence.shape)} with {units} units")
    inputs = _gates(call, "input_to", source, (units, features), [f"{g}_bias" for g in _GATES])
    hiddens = _gates(call, "hidden_to", hidden, (units, units), [])
    make = ShortNarrowing if is_short else Narrowing
    is_kept = call.is_kept("hidden") and call.is_kept("cell")
    op = Lstm(
        Walk(is_batch_first, is_reverse=False, has_initial=is_kept),
        steps,
        batch,
        inputs,
        hiddens,
        hidden.zero_point,
        slot=0,
        cell_bits=_cell_bits(call),
        narrowing=make(*quantize_multiplier(2.0**-30 / hidden.scale), hidden.zero_point),
        projection=None,
        initial=make(*quantize_multiplier(float(is_kept)), hidden.zero_point),
        has_final=is_kept,
        cell_limit=_cell_limit(call),
    )
    if is_kept:
        _emit_kept(call, op, sequence, output)
    else:
        call.emit(op, [sequence.tensor], [output.tensor])


def _emit_kept(call: Call, op: Lstm, sequence: Operand, output: Operand) -> None:
    """The layer from the state of the run before, and the state for the next one."""
    shape = op.batch, op.units
    hidden, cell = call.tensor("hidden"), call.tensor("cell", dtype=np.int16)
    last, final = call.output("hidden"), call.output("cell")
    if (hidden.shape, cell.shape) != (shape, shape):
        call.invalid(f"states of shapes {list(hidden.shape)} and {list(cell.shape)}")
    before = hidden.tensor
    if not op.is_int16:
        same = rescale(call, 0, 1.0)
        limits = np.iinfo(np.int16)
        ends = limits.min, limits.max
        zero_points = op.zero_point, 0
        widened = TwoSlopes(np.dtype(np.int16), *zero_points, same, same, *ends, name="requantize")
        before = call.temporary(np.int16, shape)
        call.emit(widened, [hidden.tensor], [before])
    # The first step of the result holds the initial outputs.
    sizes = list(output.shape)
    sizes[op.walk.time] += 1
    every = call.intermediate(output.dtype, sizes, range(3))
    call.emit(op, [sequence.tensor, before, cell.tensor], [every.tensor, final.tensor])
    read = Strided.of(every)
    steps = read.slice(op.walk.time, 1, op.steps)
    move(call, "slice", output, [(every, steps, Strided.of(output))])
    end = read.select(op.walk.time, op.steps)
    move(call, "select", last, [(every, end, Strided.of(last))])


def _cell_bits(call: Call) -> int:
    """Fractional bits of the cell state, whose scale is a power of two."""
    scale = _cell_scale(call)
    mantissa, exponent = math.frexp(scale)
    if mantissa != 0.5 or not 0 <= 1 - exponent <= FINEST_CELL_BITS:
        call.unsupported(f"the cell state has scale {scale:g}")
    return 1 - exponent


def _cell_limit(call: Call) -> int | None:
    """The largest magnitude of a cell; None without a limit, which fine cells always have."""
    clip = call.number("cell_clip")
    if not clip > 0:
        return LARGEST_CELL if _cell_bits(call) > MOST_CELL_BITS else None
    return int(min(clip / _cell_scale(call), LARGEST_CELL))


def _cell_scale(call: Call) -> float:
    scales = call.quantization("cell").scales
    if len(scales) != 1:
        call.unsupported(f"the cell state has {len(scales)} scales, not one")
    return scales[0]


def _gates(
    call: Call, prefix: str, source: Scale, shape: tuple[int, int], biases: Sequence[str]
) -> GateProduct:
    """The products of all gates with one source, in the order of _GATES."""
    check_depth(call, shape[1])
    parts, factors = [], []
    for gate in _GATES:
        name = f"{prefix}_{gate}"
        weights = call.constant(name, dtype=np.int8, rank=2)
        if weights.shape != shape:
            call.invalid(f"{name} has shape {list(weights.shape)}, not {list(shape)}")
        scales = read_channel_scales(call, name, shape[0], 0)
        factors += [product_factor(source, scale, 2.0**-GATE_BITS) for scale in scales]
        parts.append(weights)
    is_short = call.element("input") == np.int16
    kind = np.int64 if is_short else np.int32
    bias = [call.constant(name, dtype=kind, rank=1) for name in biases]
    if any(part.shape != shape[:1] for part in bias):
        call.invalid(f"the biases are not of {shape[0]} units")
    weights, added = np.concatenate(parts), np.concatenate(bias) if bias else None
    if not is_short:
        return gate_product(weights, added, source.zero_point, factors)
    if added is None:
        added = np.zeros(len(weights), np.int64)
    multipliers, shifts = zip(*map(quantize_multiplier, factors), strict=True)
    try:
        return ShortGateProduct.checked(weights, added, multipliers, shifts)
    except ValueError as error:
        call.unsupported(str(error))


def gate_product(
    weights: Int8Array, bias: Int32Array | None, zero_point: int, factors: Sequence[float]
) -> GateProduct:
    """With the zero point of the source in the bias."""
    sums = -zero_point * weights.astype(np.int64).sum(axis=1)
    pairs = [quantize_multiplier(factor) for factor in factors]
    multipliers, shifts = zip(*pairs, strict=True)
    return GateProduct(weights, wrap32(sums if bias is None else sums + bias), multipliers, shifts)


@tflite_op("SVDF")
def read_svdf(call: Call) -> None:
    rows, output = call.tensor("input", dtype=np.int8, rank=2), call.output("out", dtype=np.int8)
    weights = call.constant("feature_weights", dtype=np.int8, rank=2)
    times = call.constant("time_weights", rank=2)
    state, final = call.tensor("state"), call.output("state")
    if times.dtype != state.dtype or times.dtype not in (np.int8, np.int16):
        names = f"{times.dtype.name} and {state.dtype.name}"
        call.wrong_type(f"weights over time and state are {names}, not both int8 or int16")
    features, depth = weights.shape
    outputs = output.shape[-1] if output.rank == 2 else 0
    if call.integer("activation") not in (FusedActivation.NONE, FusedActivation.RELU):
        call.unsupported(f"fused activation {call.integer('activation')}")
    if rows.shape[0] != 1:
        call.unsupported(f"a batch of {rows.shape[0]}")
    if rows.shape != (1, depth) or len(times) != features or times.size == 0 or outputs == 0:
        call.invalid(f"{list(rows.shape)} with {list(weights.shape)} and {list(times.shape)}")
    if features != outputs * call.integer("rank", 1) or output.shape != (1, outputs):
        call.invalid(f"{features} features to {list(output.shape)}")
    if state.numel != times.size:
        call.invalid(f"state has shape {list(state.shape)} for {list(times.shape)} weights")
    check_depth(call, depth)
    bias = call.optional_constant("bias", dtype=np.int32)
    bias = np.zeros(outputs, np.int32) if bias is None else bias
    if bias.shape != (outputs,):
        call.invalid(f"bias has shape {list(bias.shape)}")
    source, kept, result = (
        read_scale(call, "input"),
        _symmetric_scale(call, "state"),
        read_scale(call, "out"),
    )
    scales = read_channel_scales(call, "feature_weights", 1, 0)
    product = gate_product(
        weights, None, source.zero_point, [source.scale * scales[0] / kept] * features
    )
    factor = kept * _symmetric_scale(call, "time_weights") / result.scale
    narrowing = Narrowing(*quantize_multiplier(factor), result.zero_point)
    # The output's range says what ReLU would: TFLite leaves it at that.
    op = Svdf(product, times, bias, narrowing, rectify=False, time_first=False)
    shape = (1, *times.shape)
    before, after = (call.temporary(times.dtype, shape) for _ in range(2))
    call.emit(View(shape), [state.tensor], [before])
    call.emit(op, [rows.tensor, before], [after, output.tensor])
    call.emit(View(final.tensor.shape), [after], [final.tensor])


def _symmetric_scale(call: Call, name: str) -> float:
    """The scale of numbers whose zero point is 0."""
    stored = call.quantization(name)
    if len(stored.scales) != 1 or stored.zero_points != (0,) or not stored.scales[0] > 0:
        call.unsupported(f"{name} has scales {list(stored.scales)}")
    return stored.scales[0]
