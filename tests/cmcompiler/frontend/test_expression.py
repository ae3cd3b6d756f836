"""Functions of one number as text."""

from __future__ import annotations

import math
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from cmcompiler.frontend.expression import Step, Value, evaluate, is_literal, text_of

OPERATORS = SimpleNamespace(
    add=SimpleNamespace(Tensor=lambda a, b, alpha=1: a + alpha * b),
    half=SimpleNamespace(default=lambda a, rounding="down": a // 2 + (rounding == "up")),
)


@st.composite
def chains(draw: st.DrawFn) -> list[Step]:
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 30))):
        earlier = st.integers(0, number - 1).map(Value) if number else st.just(Value())
        values = st.one_of(st.just(Value()), earlier)
        if draw(st.booleans()):
            steps.append(Step("half", (draw(values),), draw(st.sampled_from([{}, UP]))))
        else:
            second = draw(st.one_of(values, st.integers(-9, 9)))
            steps.append(Step("add.Tensor", (draw(values), second), draw(ALPHAS)))
    return steps


UP = {"rounding": "up"}
ALPHAS = st.sampled_from([{}, {"alpha": 3}, {"alpha": Value()}])


def run(steps: list[Step], x: int) -> int:
    results: list[int] = []

    def of(value: object) -> object:
        if isinstance(value, Value):
            return x if value.step is None else results[value.step]
        return value

    for step in steps:
        packet, _, overload = step.operator.partition(".")
        call = getattr(getattr(OPERATORS, packet), overload or "default")
        keywords = {name: of(value) for name, value in step.keywords.items()}
        results.append(call(*map(of, step.arguments), **keywords))
    return results[-1]


@settings(max_examples=30)
@given(chains(), st.integers(-50, 50))
def test_text_computes_what_its_steps_do(steps: list[Step], x: int) -> None:
    assert evaluate(text_of(steps), x, OPERATORS) == run(steps, x)


def test_text_is_readable() -> None:
    sigmoid, gate = Step("sigmoid", (Value(),), {}), Step("mul.Tensor", (Value(), Value(0)), {})
    assert text_of([sigmoid, gate]) == "mul.Tensor(x, sigmoid(x))"
    shared = Step("mul.Tensor", (Value(0), Value(0)), {"alpha": -0.5})
    assert text_of([sigmoid, shared]) == "t0 = sigmoid(x); mul.Tensor(t0, t0, alpha=-0.5)"


@given(st.floats(allow_nan=False))
def test_numbers_keep_all_digits(number: float) -> None:
    text = text_of([Step("add.Tensor", (0.0, number), {})])
    assert evaluate(text, 0, OPERATORS) == number


def test_only_values_that_can_be_written_are_literals() -> None:
    assert all(map(is_literal, (None, True, 3, 0.5, math.inf, "tanh", [1, 2])))
    assert not any(map(is_literal, (math.nan, object(), [object()], {})))
