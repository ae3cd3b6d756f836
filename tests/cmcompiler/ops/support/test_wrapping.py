"""Integer arithmetic that never traps, against Python's own."""

from __future__ import annotations

import numpy as np

from cmcompiler.ops.support import wrapping

NUMBERS = (-(1 << 63), -8, -7, -1, 0, 1, 2, 3, 8, (1 << 63) - 1)
A, B = (part.ravel() for part in np.meshgrid(NUMBERS, NUMBERS))


def wrapped(number: int) -> int:
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def test_quotients_and_rests() -> None:
    pairs = list(zip(A.tolist(), B.tolist(), strict=True))
    floors = [wrapped(a // b) if b else 0 for a, b in pairs]
    assert wrapping.floor_quotient(A, B).tolist() == floors
    assert wrapping.floor_rest(A, B).tolist() == [a % b if b else 0 for a, b in pairs]
    signs = [1 if (a < 0) == (b < 0) else -1 for a, b in pairs]
    towards_zero = [
        wrapped(sign * (abs(a) // abs(b))) if b else 0
        for sign, (a, b) in zip(signs, pairs, strict=True)
    ]
    assert wrapping.quotient(A, B).tolist() == towards_zero
    rests = [
        (a - sign * (abs(a) // abs(b)) * b) if b else 0
        for sign, (a, b) in zip(signs, pairs, strict=True)
    ]
    assert wrapping.rest(A, B).tolist() == rests


def test_powers_are_modulo_2_to_the_64() -> None:
    for base in (-3, -1, 0, 1, 2, 7, 1 << 33):
        for exponent in (0, 1, 5, 63, 64):
            power = wrapping.power(np.array([base]), np.array([exponent]))
            assert power.tolist() == [wrapped(base**exponent)]
    negative = wrapping.power(np.array([-1, -1, 1, 2, 0]), np.array([-1, -2, -9, -1, -1]))
    assert negative.tolist() == [-1, 1, 1, 0, 0]


def test_shifts_by_any_number() -> None:
    a, n = np.array([-5, -5, 5, 5]), np.array([1, 64, 63, -1])
    assert wrapping.shift_left(a, n).tolist() == [-10, 0, wrapped(5 << 63), 0]
    assert wrapping.shift_right(a, n).tolist() == [-3, -1, 0, 0]
