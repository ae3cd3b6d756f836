"""Recurrent layers on every instruction set equal the reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from harness.convolutions import Numbers, numbers, requantizes
from harness.examples import Array, Example, single
from harness.runtime import Runtime
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ir.op import Op
from cmcompiler.ops.gru import Gru
from cmcompiler.ops.lstm import Lstm, Projection
from cmcompiler.ops.rnn import FUNCTIONS, Rnn
from cmcompiler.ops.support.gates import GateProduct, Narrowing
from cmcompiler.ops.support.recurrence import Walk

sizes = st.integers(1, 20) | st.sampled_from([33, 64, 70])


@st.composite
def narrowings(draw: st.DrawFn, bits: int) -> Narrowing:
    """From numbers of up to 2^bits to int8; sometimes anything."""
    shift = draw(st.sampled_from([7 - bits, 7 - bits, 8 - bits, -31, 0, 9]))
    multiplier = draw(st.integers(1 << 30, (1 << 31) - 1) | st.just(0))
    return Narrowing(multiplier, shift, draw(st.integers(-128, 127)))


@st.composite
def products(draw: st.DrawFn, data: Numbers, gates: int, depth: int) -> GateProduct:
    """With gates that cover the range of their functions, and sometimes arbitrary ones."""
    scale = draw(requantizes(gates, depth))
    rises = draw(st.sampled_from([8, 8, 5, 0]))
    shifts = tuple(min(shift + rises, 31) for shift in scale.shifts)
    bias = data.biases(gates)
    return GateProduct(data.int8(gates, depth), bias, scale.multipliers, shifts)


def states(data: Numbers, *shape: int) -> Array:
    generator = np.random.default_rng([data.seed, *shape])
    values = generator.normal(scale=3, size=shape).astype(np.float32)
    special = np.array([np.nan, np.inf, -np.inf, 1e-42, 40000], np.float32)
    chosen = generator.random(shape) < 0.05
    return np.where(chosen, generator.choice(special, shape), values)


@dataclass(frozen=True)
class Layer:
    data: Numbers
    walk: Walk
    steps: int
    batch: int
    features: int
    units: int

    @property
    def sequence(self) -> Array:
        outer = (self.batch, self.steps) if self.walk.is_batch_first else (self.steps, self.batch)
        return self.data.int8(*outer, self.features)

    def example(self, op: Op, *initial: int) -> Example:
        """With initial states of these sizes, if the walk has one."""
        sizes = initial if self.walk.has_initial else ()
        return single(op, self.sequence, *(states(self.data, self.batch, size) for size in sizes))


layers = st.builds(
    Layer,
    numbers,
    st.builds(Walk, st.booleans(), st.booleans(), st.booleans()),
    st.sampled_from([1, 2, 3, 9]),
    st.sampled_from([1, 1, 2, 3]),
    sizes,
    sizes,
)


@st.composite
def lstms(draw: st.DrawFn) -> Example:
    layer = draw(layers)
    data, units = layer.data, layer.units
    outputs, projection, zero_point = units, None, None
    narrowing = draw(narrowings(30))
    if draw(st.booleans()):
        outputs = draw(sizes)
        scale = draw(requantizes(outputs, units))
        projection = Projection(data.int8(outputs, units), data.biases(outputs), scale)
        zero_point = int(np.clip(scale.zero_point, -128, 127))
    op = Lstm(
        layer.walk,
        layer.steps,
        layer.batch,
        draw(products(data, 4 * units, layer.features)),
        draw(products(data, 4 * units, outputs)),
        narrowing.zero_point if zero_point is None else zero_point,
        draw(st.integers(0, 12)),
        narrowing,
        projection,
        np.float32(draw(st.floats(1e-3, 1))),
        draw(st.booleans()),
    )
    return layer.example(op, outputs, units)


@st.composite
def grus(draw: st.DrawFn) -> Example:
    layer = draw(layers)
    data, units = layer.data, layer.units
    narrowing = draw(narrowings(15))
    op = Gru(
        layer.walk,
        layer.steps,
        layer.batch,
        draw(products(data, 3 * units, layer.features)),
        draw(products(data, 3 * units, units)),
        narrowing.zero_point,
        draw(st.integers(0, 15) | st.just(15)),
        narrowing,
        draw(st.booleans()),
    )
    return layer.example(op, units)


@st.composite
def rnns(draw: st.DrawFn) -> Example:
    layer = draw(layers)
    data, units = layer.data, layer.units
    narrowing = draw(narrowings(15))
    op = Rnn(
        layer.walk,
        layer.steps,
        layer.batch,
        draw(products(data, units, layer.features)),
        draw(products(data, units, units)),
        narrowing.zero_point,
        draw(st.sampled_from(FUNCTIONS)),
        narrowing,
        np.float32(draw(st.floats(1e-3, 1))),
    )
    return layer.example(op, units)


@settings(max_examples=10)
@given(st.lists(lstms() | grus() | rnns(), min_size=1, max_size=15))
def test_recurrent_layers(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)
