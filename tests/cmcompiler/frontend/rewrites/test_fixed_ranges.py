"""A softmax beside larger numbers gets a range that both can share."""

from __future__ import annotations

import torch
from harness.rewriting import Function, rewritten, targets

from cmcompiler.frontend.rewrites.fixed_ranges import free_ranges

TABLE = "cmbuild.function.default"


def test_joins_with_larger_numbers() -> None:
    module = Function(lambda x: torch.cat([x.softmax(-1).unsqueeze(1), 9 * x[:, None]], 1))
    assert targets(rewritten(module, torch.randn(2, 4), by=free_ranges)).count(TABLE) == 1


def test_joins_of_softmaxes_keep_their_range() -> None:
    module = Function(lambda x: torch.stack([x.softmax(-1), x.softmax(0)]))
    assert TABLE not in targets(rewritten(module, torch.randn(2, 4), by=free_ranges))
