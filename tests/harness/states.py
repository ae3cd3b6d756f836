"""The programs with mutable buffers in tests/data/programs: samples and expected outputs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.examples import Array

Sample = tuple[Array, ...]

NAMES = ("mutable_buffer", "initialised_buffer", "cache", "cache_in_place", "states")


def samples(name: str, count: int = 4) -> list[Sample]:
    return [tuple(_inputs(name, np.random.default_rng(number))) for number in range(count)]


def _inputs(name: str, random: np.random.Generator) -> Iterator[Array]:
    shapes = {"mutable_buffer": (2, 3), "initialised_buffer": (2, 4), "states": (4, 4)}
    if name.startswith("cache"):
        yield random.integers(0, 8, (1,), dtype=np.int64)
    if name == "states":
        yield np.array(random.integers(2), np.bool_)
    yield random.standard_normal(shapes.get(name, (1, 4)), dtype=np.float32)


def expected(name: str, sequence: list[Sample]) -> list[tuple[Array, ...]]:
    """The outputs of one sample after the other."""
    return list(_MODELS[name](sequence))


def _counter(sequence: list[Sample]) -> Iterator[tuple[Array, ...]]:
    state = np.zeros((2, 3), np.float32)
    for (x,) in sequence:
        yield (state,)
        state = x


def _sums(sequence: list[Sample]) -> Iterator[tuple[Array, ...]]:
    sums = np.arange(8, dtype=np.float32).reshape(2, 4)
    for number, (x,) in enumerate(sequence, start=1):
        sums = sums + x
        yield sums * 2, np.array([number], np.int64)


def _cache(sequence: list[Sample]) -> Iterator[tuple[Array, ...]]:
    rows = np.zeros((8, 4), np.float32)
    for position, row in sequence:
        rows = rows.copy()
        rows[position] = row
        yield (rows,)


def _states(sequence: list[Sample]) -> Iterator[tuple[Array, ...]]:
    first, second, line, chosen = np.zeros((4, 4, 4), np.float32)
    for flag, x in sequence:
        before = first[1:]
        first, second = second + x, first
        line = np.concatenate([line[1:], x[:1]])
        chosen = chosen + x if flag else chosen
        yield before, second, line, chosen * 2


_MODELS = {
    "mutable_buffer": _counter,
    "initialised_buffer": _sums,
    "cache": _cache,
    "cache_in_place": _cache,
    "states": _states,
}
