"""Every layer of every model of this repository is faithful and has a counterpart."""

from __future__ import annotations

import pytest
from harness.sweep import examine, of_the_repository


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("model", list(of_the_repository()))
def test_every_layer_is_faithful(model: str) -> None:
    examined = examine(model)
    assert examined.faults == []
    assert examined.fidelity.faithful or not examined.fidelity.layers
