"""Operators on integers by others."""

from __future__ import annotations

import pytest
import torch
from harness.rewriting import Function, rewritten, targets

from cmcompiler.frontend.rewrites.integers import spell_integers

BYTES = torch.tensor([[0, 3, 0, 255], [0, 0, 0, 0]], dtype=torch.uint8)
NUMBERS = torch.tensor([[-5, 0, 7, 1 << 20], [-1, -(1 << 20), 3, 100]])

SPELLED = {
    "any": (BYTES, lambda x: x.any(1)),
    "any of all": (BYTES, lambda x: x.any()),
    "all": (BYTES, lambda x: x.all(0, keepdim=True)),
    "left": (NUMBERS, lambda x: x << 3),
    "left, int32": (NUMBERS.int(), lambda x: torch.bitwise_left_shift(x, torch.tensor(2))),
    "right": (NUMBERS, lambda x: x >> 2),
    "right, bytes": (BYTES, lambda x: torch.bitwise_right_shift(x, 1)),
    "buckets": (NUMBERS, lambda x: torch.bucketize(x, torch.tensor([-5, 0, 3, 50]))),
    "buckets, closed": (
        NUMBERS.float(),
        lambda x: torch.searchsorted(torch.tensor([-5.0, 0, 3]), x, right=True, out_int32=True),
    ),
    "places of places": (NUMBERS.int(), lambda x: x.argsort(1, descending=True).argsort(1)),
    "places of extremes": (NUMBERS.float(), lambda x: x.argmax(1).argsort()),
    "places of a part": (NUMBERS << 20, lambda x: x.split(2, 1)[1].argsort(1)),
    "sorted": (NUMBERS.int(), lambda x: x.msort()),
    "cumsum": (NUMBERS.to(torch.int8), lambda x: (x * 20).cumsum(1, dtype=torch.int8)),
}


@pytest.mark.parametrize("name", SPELLED)
def test_the_same_integers(name):
    x, function = SPELLED[name]
    graph = rewritten(Function(function), x, by=spell_integers, tolerance=0)
    assert not any(name in target for target in targets(graph) for name in ("shift", "argsort"))


@pytest.mark.parametrize("function", [lambda x: x >> x.abs(), lambda x: x << torch.arange(4)])
def test_shifts_by_tensors_have_one_name(function):
    graph = rewritten(Function(function), NUMBERS % 9, by=spell_integers, tolerance=0)
    assert any("bitwise" in target for target in targets(graph))
    assert not any("__" in target for target in targets(graph))


NUMBERS_AND_PLACES = {
    "largest": lambda x: sum(x.max(1)),
    "next": lambda x: x.topk(2).values * (x.topk(2).indices + 1),
    "difference": lambda x: x - x.min(1, keepdim=True).indices,
    "quotient": lambda x: x.sort(-1).values / (1 + x.sort(-1).indices),
    "larger": lambda x: torch.maximum(x, x.sort(-1).indices),
    "constants": lambda x: x * torch.arange(3),
    "truths": lambda x: x + (x > 0),
    "choice": lambda x: torch.where(x > 0, x, x.argsort(-1)),
    "joined": lambda x: torch.cat([x, x.argsort(-1)]),
}


@pytest.mark.parametrize("function", NUMBERS_AND_PLACES.values(), ids=NUMBERS_AND_PLACES)
def test_integers_are_numbers_among_numbers(function):
    x = torch.tensor([[0.5, -1.0, 3.0], [2.0, 2.5, -0.25]])
    graph = rewritten(Function(function), x, by=spell_integers, tolerance=0)
    assert "aten.to.dtype" in targets(graph)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_integers_are_numbers_beside_a_fraction(dtype):
    for function in (lambda x: torch.where(x > 0, x, 0.5), lambda x: torch.where(x > 0, 0.5, x)):
        graph = rewritten(Function(function), NUMBERS.to(dtype), by=spell_integers, tolerance=0)
        assert "aten.to.dtype" in targets(graph)
    graph = rewritten(
        Function(lambda x: torch.where(x > 0, x, 5)),
        NUMBERS.to(dtype),
        by=spell_integers,
        tolerance=0,
    )
    assert "aten.to.dtype" not in targets(graph)
