"""Steps of the weights that eight bits store."""

from __future__ import annotations

import pytest
import torch

from cmcompiler.frontend.weight_steps import stored_steps


@pytest.mark.parametrize("levels", [127, 126, 100, 64, 41, 3])
def test_whole_steps_are_kept(levels: int) -> None:
    generator = torch.Generator().manual_seed(levels)
    stored = torch.randint(-levels, levels + 1, (5, 40), generator=generator)
    stored[:, 0] = levels
    rows = (stored * torch.rand(5, 1, generator=generator)).float().double()
    steps = rows / stored_steps(rows)[:, None]
    assert torch.allclose(steps, steps.round(), atol=1e-4) and steps.abs().max() < 127.5


def test_other_rows_get_the_least_step() -> None:
    rows = torch.randn(6, 20, generator=torch.Generator().manual_seed(3)).double()
    rows[2] = 0
    rows[3, 1:] = 0
    steps = stored_steps(rows)
    assert torch.equal(steps[3:], rows[3:].abs().amax(1) / 127)
    assert torch.equal(steps[:2], rows[:2].abs().amax(1) / 127) and steps[2] > 0


def test_rows_of_four_bits_keep_seven_steps() -> None:
    rows = torch.randint(-7, 8, (16, 40), generator=torch.Generator().manual_seed(4)).double()
    rows[:, 5] = 7
    assert torch.equal(stored_steps(rows), torch.ones(16).double())
