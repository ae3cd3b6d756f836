"""Parts of attention in float, as torch has them."""

from __future__ import annotations

import torch

from cmcompiler.frontend.operators.attention import repeated, scores


def test_shared_keys_are_read_by_each_group_of_queries() -> None:
    query, key = torch.rand(6, 4, 8), torch.rand(2, 5, 8)
    every = repeated(query, key)
    assert every.shape == (6, 5, 8)
    assert {tuple(row.ravel().tolist()) for row in every} == {
        tuple(row.ravel().tolist()) for row in key
    }


def test_scores_are_scaled_before_anything_is_added() -> None:
    query, key, added = torch.rand(2, 4, 8), torch.rand(2, 5, 8), torch.rand(2, 4, 5)
    plain = scores(query, key, None, 0.5)
    torch.testing.assert_close(plain, torch.einsum("bqd,bkd->bqk", query, key) * 0.5)
    torch.testing.assert_close(scores(query, key, added, 0.5), plain + added)
