"""Running sums in float, as torch has them."""

from __future__ import annotations

import pytest
import torch

from cmcompiler.frontend.operators.cumsum import cumsum


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_it_is_torchs_in_the_input_s_own_order(dim: int) -> None:
    x = torch.rand(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    result = cumsum(x, dim)
    torch.testing.assert_close(result, x.cumsum(dim))
    assert result.stride() == x.stride()
