"""Accuracy of the elementary functions in float32."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from cmcompiler.ops.support import functions
from cmcompiler.ops.support.functions import Floats

Doubles = npt.NDArray[np.float64]
TINY, HUGE = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)

erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])


def numbers(spread: float, count: int = 200_000) -> Floats:
    rng = np.random.default_rng(7)
    wide = rng.uniform(-spread, spread, count)
    return np.concatenate([wide, wide * 1e-2, wide * 1e-5]).astype(np.float32)


def error(actual: Floats, exact: Doubles) -> float:
    """The largest relative error among normal numbers."""
    normal = (np.abs(exact) > TINY) & (np.abs(exact) < HUGE)
    wrong = np.abs(actual[normal].astype(np.float64) - exact[normal])
    return float((wrong / np.abs(exact[normal])).max())


@pytest.mark.parametrize(
    ("function", "exact", "spread", "limit"),
    [
        (functions.exp, np.exp, 100, 4e-7),
        (functions.expm1, np.expm1, 100, 4e-7),
        (functions.tanh, np.tanh, 10, 4e-7),
        (functions.sigmoid, lambda x: 1 / (1 + np.exp(-x)), 90, 4e-7),
        (functions.sinh, np.sinh, 91, 1e-6),
        (functions.cosh, np.cosh, 91, 1e-6),
        (functions.asinh, np.arcsinh, 1e6, 1e-6),
        (functions.atanh, np.arctanh, 1, 1e-6),
        (functions.erf, erf, 5, 4e-7),
        (functions.erfc, erfc, 2, 5e-7),
        (functions.erfc, erfc, 10, 1e-5),
        (functions.sin, np.sin, 1e3, 4e-7),
        (functions.cos, np.cos, 1e3, 4e-7),
        (functions.tan, np.tan, 1e3, 4e-7),
        (functions.asin, np.arcsin, 1, 4e-7),
        (functions.acos, np.arccos, 1, 4e-7),
        (functions.atan, np.arctan, 1e4, 4e-7),
    ],
)
def test_error(
    function: Callable[[Floats], Floats],
    exact: Callable[[Doubles], Doubles],
    spread: float,
    limit: float,
) -> None:
    x = numbers(spread)
    with np.errstate(all="ignore"):
        assert error(function(x), exact(x.astype(np.float64))) < limit


def test_error_of_the_logarithm() -> None:
    x = np.concatenate([np.exp(numbers(80)), 1 + numbers(0.1), np.abs(numbers(1e-37))])
    x = x[x > 0]
    with np.errstate(all="ignore"):
        assert error(functions.log(x), np.log(x.astype(np.float64))) < 4e-7
        assert error(functions.log2(x), np.log2(x.astype(np.float64))) < 4e-7
        assert error(functions.log10(x), np.log10(x.astype(np.float64))) < 4e-7


def test_logarithms_of_powers_of_two_are_whole() -> None:
    exponents = np.arange(-126, 128, dtype=np.float32)
    assert np.array_equal(functions.log2(np.exp2(exponents)), exponents)


def test_error_of_the_inverse_of_cosh() -> None:
    x = np.concatenate([1 + np.abs(numbers(1)), 1 + np.abs(numbers(1e6))])
    assert error(functions.acosh(x), np.arccosh(x.astype(np.float64))) < 1e-6


def test_error_of_the_logarithm_near_one() -> None:
    x = np.concatenate([numbers(1), numbers(1e-3), np.abs(numbers(1e6))])
    x = x[x > -1]
    with np.errstate(all="ignore"):
        assert error(functions.log1p(x), np.log1p(x.astype(np.float64))) < 4e-7


@pytest.mark.parametrize(("largest", "limit"), [(4, 5e-7), (16, 3e-6), (128, 1e-5)])
def test_error_of_the_power(largest: float, limit: float) -> None:
    exponents = numbers(largest)
    bases = np.exp(numbers(80 / largest)[::-1]).astype(np.float32)
    with np.errstate(all="ignore"):
        exact = bases.astype(np.float64) ** exponents.astype(np.float64)
        assert error(functions.power(bases, exponents), exact) < limit


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_error_of_angles_of_any_size(name: str) -> None:
    patterns = np.arange(0, 0x7F800000, 4999, dtype=np.uint32)
    x = np.concatenate([patterns.view(np.float32), -patterns.view(np.float32)])
    assert error(getattr(functions, name)(x), getattr(np, name)(x.astype(np.float64))) < 4e-7


def test_the_angle_that_is_nearest_to_a_multiple_of_half_a_turn() -> None:
    """16,367,173 · 2^72 is an odd multiple of pi / 2, less 1.6e-9."""
    x = np.array([16367173 * 2.0**72], np.float32)
    assert functions.cos(x) == pytest.approx(-1.6147697982476211e-09, rel=4e-7)


def test_error_of_the_angle_of_a_point() -> None:
    y, x = numbers(1e3), numbers(1e-2)[::-1]
    exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    assert error(functions.atan2(y, x), exact) < 4e-7


SPECIAL = np.array(
    [0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 1e30, -1e30, 1e-40, -1e-40, 3e38, np.inf, -np.inf,
     np.nan], np.float32
)  # fmt: skip


NAMES = {
    name: name.replace("a", "arc", 1)
    for name in ("asinh", "acosh", "atanh", "asin", "acos", "atan", "atan2")
}


@pytest.mark.parametrize(
    "name",
    [
        *("exp", "expm1", "log", "log1p", "log2", "log10", "tanh"),
        *("sinh", "cosh", "asinh", "acosh", "atanh"),
        *("sin", "cos", "tan", "asin", "acos", "atan"),
    ],
)
def test_limits_are_numpys(name: str) -> None:
    with np.errstate(all="ignore"):
        actual = getattr(functions, name)(SPECIAL)
        exact = getattr(np, NAMES.get(name, name))(SPECIAL)
    assert np.allclose(actual, exact, rtol=1e-6, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    "name", ["tanh", "sinh", "asinh", "atanh", "sin", "tan", "asin", "atan", "erf"]
)
def test_odd_functions_keep_the_sign_of_zero(name: str) -> None:
    zeros = np.array([0.0, -0.0], np.float32)
    assert np.signbit(getattr(functions, name)(zeros)).tolist() == [False, True]


@pytest.mark.parametrize("name", ["power", "atan2"])
def test_limits_of_two_numbers_are_numpys(name: str) -> None:
    x, y = (side.ravel() for side in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        actual = getattr(functions, name)(x, y)
        exact = getattr(np, NAMES.get(name, name))(x, y)
    assert np.allclose(actual, exact, rtol=3e-6, atol=1e-45, equal_nan=True)
    known = ~np.isnan(exact)
    assert np.array_equal(np.signbit(actual[known]), np.signbit(exact[known]))


def test_overflow_and_underflow() -> None:
    x = np.array([88.72283, 88.7229, -87.4, -103, -103.97, -103.98], np.float32)
    with np.errstate(all="ignore"):
        actual = functions.exp(x)
    assert np.isinf(actual).tolist() == [False, True, False, False, False, False]
    assert (actual == 0).tolist() == [False, False, False, False, False, True]
    subnormal = np.float32(2**-149)
    assert actual[3] == actual[4] == subnormal
