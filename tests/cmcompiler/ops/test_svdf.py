"""SVDF: every runtime against the reference."""

from __future__ import annotations

import numpy as np
from harness.convolutions import Numbers, numbers, requantizes
from harness.examples import Example, single
from harness.runtime import Runtime
from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.ops.support.gates import GateProduct, Narrowing
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
    shifts = tuple(min(shift + 8, 31) for shift in scale.shifts)
    product = GateProduct(
        data.int8(features, depth), data.biases(features), scale.multipliers, shifts
    )
    generator = np.random.default_rng(data.seed)
    is_narrow = draw(st.booleans())
    time_first = not is_narrow and draw(st.booleans())
    shape = (time, features) if time_first else (features, time)
    dtype = np.dtype(np.int8 if is_narrow else np.int16)
    most = 1 << draw(st.sampled_from([7] if is_narrow else [8, 12, 15]))  # whose sums may wrap
    op = Svdf(
        product,
        generator.integers(-most, most, shape).astype(dtype),
        data.biases(outputs),
        Narrowing(
            draw(st.integers(1 << 30, (1 << 31) - 1) | st.just(0)),
            draw(st.sampled_from([-16, -20, -24, -31, 3])),
            draw(st.integers(-128, 127)),
        ),
        draw(st.booleans()),
        time_first,
    )
    limits = np.iinfo(dtype)
    state = generator.integers(limits.min, limits.max, (1, *shape), endpoint=True).astype(dtype)
    return single(op, data.int8(1, depth), state)


@settings(max_examples=8)
@given(st.lists(layers(), min_size=1, max_size=20))
def test_every_runtime_equals_the_reference(runtime: Runtime, examples: list[Example]) -> None:
    runtime.check(*examples)
