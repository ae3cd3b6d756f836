"""Recurrent layers on every instruction set equal the reference."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from harness.convolutions import Numbers, numbers, requantizes
from harness.examples import Array, Example, single
from harness.runtime import Runtime
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ir.op import Op
from cmcompiler.isa import Isa
from cmcompiler.ops.gru import Gru
from cmcompiler.ops.lstm import Lstm, Projection
from cmcompiler.ops.rnn import FUNCTIONS, Rnn
from cmcompiler.ops.support.gates import GateProduct, Narrowing
from cmcompiler.ops.support.recurrence import Walk
from cmcompiler.ops.support.short_gates import FineGateProduct, ShortGateProduct, ShortNarrowing
from cmcompiler.plan.planner import make_plan

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
    return GateProduct(draw(weights(data, gates, depth)), bias, scale.multipliers, shifts)


@st.composite
def weights(draw: st.DrawFn, data: Numbers, gates: int, depth: int) -> Array:
    """Of eight bits or of four."""
    return data.int8(gates, depth) >> draw(st.sampled_from([0, 0, 4]))


@st.composite
def short_products(draw: st.DrawFn, data: Numbers, gates: int, depth: int) -> ShortGateProduct:
    """With gates that cover the range of their functions, or sums of 64 bits.

    Weights have eight bits or 16.
    """
    usual = -8 - int(np.log2(depth + 1) / 2)
    low, high = draw(st.sampled_from([(usual - 2, usual + 1), (usual - 2, usual + 1), (-31, 7)]))
    generator = np.random.default_rng([data.seed, gates, depth])
    multipliers = generator.integers(1 << 30, 1 << 31, gates)
    multipliers[generator.random(gates) < 0.05] = 0
    shifts = generator.integers(low, high + 1, gates)
    bias = generator.integers(-1, 2, gates) << draw(st.sampled_from([20, 20, 40]))
    rescale = tuple(multipliers.tolist()), tuple(shifts.tolist())
    if draw(st.booleans()):
        fine = generator.integers(-127 << 8, (127 << 8) + 1, (gates, depth)).astype(np.int16)
        lower = tuple(max(shift - 8, -31) for shift in rescale[1])
        return FineGateProduct.of(fine, bias << 8, rescale[0], lower)
    return ShortGateProduct(draw(weights(data, gates, depth)), bias, *rescale)


@st.composite
def short_narrowings(draw: st.DrawFn, bits: int) -> ShortNarrowing:
    shift = draw(st.sampled_from([15 - bits, 15 - bits, 16 - bits, -31, 0, 9]))
    return ShortNarrowing(draw(st.integers(1 << 30, (1 << 31) - 1) | st.just(0)), shift, 0)


def states(data: Numbers, *shape: int) -> Array:
    generator = np.random.default_rng([data.seed, *shape])
    return generator.integers(-(1 << 15), 1 << 15, shape).astype(np.int16)


@dataclass(frozen=True)
class Layer:
    data: Numbers
    walk: Walk
    steps: int
    batch: int
    features: int
    units: int
    slot: int
    slots: tuple[int, ...]  # a dimension, or none
    is_short: bool = False

    @property
    def sequence(self) -> Array:
        outer = (self.batch, self.steps) if self.walk.is_batch_first else (self.steps, self.batch)
        draw = states if self.is_short else Numbers.int8
        return draw(self.data, *outer, self.features)

    @property
    def as_short(self) -> Layer:
        return replace(self, is_short=True)

    def example(self, op: Op, *initial: int) -> Example:
        """With initial states of these sizes, if the walk has one."""
        sizes = initial if self.walk.has_initial else ()
        shape = (*self.slots, self.batch)
        return single(op, self.sequence, *(states(self.data, *shape, size) for size in sizes))


@st.composite
def slots(draw: st.DrawFn) -> tuple[int, tuple[int, ...]]:
    """A slot and what has it."""
    count = draw(st.integers(0, 3))
    return draw(st.integers(0, max(count - 1, 0))), (count,) * (count > 0)


layers = st.builds(
    lambda *fields: Layer(*fields[:-1], *fields[-1]),
    numbers,
    st.builds(Walk, st.booleans(), st.booleans(), st.booleans()),
    st.sampled_from([1, 2, 3, 9]),
    st.sampled_from([1, 1, 2, 3]),
    sizes,
    sizes,
    slots(),
)


@st.composite
def lstms(draw: st.DrawFn) -> Example:
    layer = draw(layers)
    data, units = layer.data, layer.units
    outputs, projection = units, None
    narrowing = draw(narrowings(30))
    zero_point = narrowing.zero_point
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
        zero_point,
        layer.slot,
        draw(st.integers(0, 12)),
        narrowing,
        projection,
        replace(draw(narrowings(15)), zero_point=zero_point),
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
        layer.slot,
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
        layer.slot,
        draw(st.sampled_from(FUNCTIONS)),
        narrowing,
        replace(draw(narrowings(15)), zero_point=narrowing.zero_point),
    )
    return layer.example(op, units)


@st.composite
def short_lstms(draw: st.DrawFn) -> Example:
    layer = draw(layers).as_short
    data, units = layer.data, layer.units
    op = Lstm(
        *(layer.walk, layer.steps, layer.batch),
        draw(short_products(data, 4 * units, layer.features)),
        draw(short_products(data, 4 * units, units)),
        *(0, layer.slot, draw(st.integers(0, 12))),
        *(draw(short_narrowings(30)), None, draw(short_narrowings(15)), draw(st.booleans())),
    )
    return layer.example(op, units, units)


@st.composite
def short_grus(draw: st.DrawFn) -> Example:
    layer = draw(layers).as_short
    data, units = layer.data, layer.units
    op = Gru(
        *(layer.walk, layer.steps, layer.batch),
        draw(short_products(data, 3 * units, layer.features)),
        draw(short_products(data, 3 * units, units)),
        *(0, layer.slot, draw(st.integers(0, 15) | st.just(15))),
        *(draw(short_narrowings(15)), draw(st.booleans())),
    )
    return layer.example(op, units)


@st.composite
def short_rnns(draw: st.DrawFn) -> Example:
    layer = draw(layers).as_short
    data, units = layer.data, layer.units
    op = Rnn(
        *(layer.walk, layer.steps, layer.batch),
        draw(short_products(data, units, layer.features)),
        draw(short_products(data, units, units)),
        *(0, layer.slot, draw(st.sampled_from(FUNCTIONS))),
        *(draw(short_narrowings(15)), draw(short_narrowings(15))),
    )
    return layer.example(op, units)


RECURRENT = lstms() | grus() | rnns() | short_lstms() | short_grus() | short_rnns()


@settings(max_examples=10)
@given(st.lists(RECURRENT, min_size=1, max_size=15))
def test_recurrent_layers(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)


def lstm_of(steps: int) -> Example:
    data = Numbers(3)
    product = GateProduct(data.int8(16, 4), data.biases(16), (1 << 30,) * 16, (-5,) * 16)
    narrowing = Narrowing(1 << 30, -22, 0)
    op = Lstm(
        Walk(is_batch_first=True, is_reverse=False, has_initial=False),
        *(steps, 1, product, product, 0, 0, 11, narrowing, None, narrowing, False),
    )
    return single(op, data.int8(1, steps, 4))


@pytest.mark.parametrize("isa", Isa)
def test_nothing_but_the_sequence_grows_with_the_steps(isa: Isa) -> None:
    short, long = (make_plan(lstm_of(steps).graph, isa) for steps in (25, 250))
    assert len(short.steps) == len(long.steps) == 1
    assert short.constants == long.constants
    assert long.arena_bytes - short.arena_bytes == pytest.approx(2 * 4 * 225, abs=32)
