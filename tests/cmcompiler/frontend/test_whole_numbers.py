"""Ranges of whole numbers."""

from __future__ import annotations

import pytest
import torch
from harness.rewriting import Function

from cmcompiler.frontend.own_ranges import observer_of
from cmcompiler.frontend.preparation import prepare

CASES = {
    "rounded": (lambda x: torch.round(x * 5).long(), 1),
    "joined": (lambda x: torch.cat([torch.floor(x * 9), torch.ceil(x)], 1).int(), 3),
    "cast": (lambda x: x.long().float() * 0.5, 1),
    "moved": (lambda x: torch.trunc(x * 4).reshape(4, 4).t() * 1.0, 3),
    "wide": (lambda x: torch.round(x * 500), 0),
    "real": (lambda x: x * 0.3, 0),
}


@pytest.mark.parametrize(("function", "expected"), CASES.values(), ids=CASES)
def test_whole_numbers_are_held_as_they_are(function, expected: int) -> None:
    torch.manual_seed(0)
    samples = [(torch.randn(1, 16),) for _ in range(4)]
    prepared = prepare(Function(function), samples[0], samples)
    held = [node for node in prepared.graph.graph.nodes if node.op == "call_module"]
    steps = [float(observer_of(node).calculate_qparams()[0]) for node in held]
    assert [(1 / step).is_integer() for step in steps].count(True) == expected
