"""Ranges of int16 tensors."""

from __future__ import annotations

import pytest
import torch

from cmcompiler.frontend.short_observer import ShortObserver


def test_ranges_leave_room_for_inputs_that_nobody_has_seen() -> None:
    observer = ShortObserver(
        dtype=torch.int16, qscheme=torch.per_tensor_symmetric, quant_min=-32767, quant_max=32767
    )
    for _ in range(20):
        observer(torch.tensor([-3.0, 1.0]))
    scale, zero_point = observer.calculate_qparams()
    assert float(scale) == pytest.approx(2 * 3 / 32767, rel=1e-4) and int(zero_point) == 0
