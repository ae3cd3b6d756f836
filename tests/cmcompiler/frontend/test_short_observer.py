"""Ranges of int16 tensors of few and of many calibration inputs."""

from __future__ import annotations

import pytest
import torch

from cmcompiler.frontend.short_observer import ShortObserver


@pytest.mark.parametrize(("inputs", "room"), [(1, 2.0), (7, 2.0), (8, 1.0)])
def test_few_inputs_leave_room(inputs: int, room: float) -> None:
    observer = ShortObserver(
        dtype=torch.int16, qscheme=torch.per_tensor_symmetric, quant_min=-32767, quant_max=32767
    )
    for _ in range(inputs):
        observer(torch.tensor([-3.0, 1.0]))
    scale, zero_point = observer.calculate_qparams()
    assert float(scale) == pytest.approx(room * 3 / 32767, rel=1e-4) and int(zero_point) == 0
