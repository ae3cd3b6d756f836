"""SVDF: every runtime against the reference."""

from __future__ import annotations

import numpy as np
from harness.convolutions import Numbers, numbers, requantizes
from harness.examples import Example, single
from harness.runtime import Runtime
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ops.support.gates import GateProduct, Narrowing
from cmcompiler.ops.support.short_gates import ShortGateProduct, ShortNarrowing
from cmcompiler.ops.svdf import Svdf


@st.composite
def layers(draw: st.DrawFn) -> Example:
    data: Numbers = draw(numbers)
    depth, outputs, rank = (
        draw(st.integers(1, 40)),
        draw(st.integers(1, 20)),
        draw(st.integers(1, 3)),
    )
    features, time = outputs * rank, draw(st.integers(1, 12))
    scale = draw(requantizes(features, depth))
    form, is_short = draw(st.sampled_from([(GateProduct, False), (ShortGateProduct, True)]))
    shifts = tuple(min(shift, 0) if is_short else min(shift + 8, 31) for shift in scale.shifts)
    bias = data.biases(features).astype(np.int64 if is_short else np.int32)
    product = form(data.int8(features, depth), bias, scale.multipliers, shifts)
    generator = np.random.default_rng(data.seed)
    is_narrow = not is_short and draw(st.booleans())
    time_first = not is_narrow and draw(st.booleans())
    shape = (time, features) if time_first else (features, time)
    dtype = np.dtype(np.int8 if is_narrow else np.int16)
    most = 1 << draw(st.sampled_from([7] if is_narrow else [8, 12, 15]))  # whose sums may wrap
    op = Svdf(
        product,
        generator.integers(-most, most, shape).astype(dtype),
        data.biases(outputs),
        (ShortNarrowing if is_short else Narrowing)(
            draw(st.integers(1 << 30, (1 << 31) - 1) | st.just(0)),
            draw(st.sampled_from([-16, -20, -24, -31, 3])),
            0 if is_short else draw(st.integers(-128, 127)),
        ),
        draw(st.booleans()),
        time_first,
    )
    limits = np.iinfo(dtype)
    state = generator.integers(limits.min, limits.max, (1, *shape), endpoint=True).astype(dtype)
    x = generator.integers(-(1 << 15), 1 << 15, (1, depth)).astype(np.int16)
    return single(op, x if is_short else data.int8(1, depth), state)


@settings(max_examples=8)
@given(st.lists(layers(), min_size=1, max_size=20))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)
