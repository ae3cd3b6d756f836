"""What a run tells of its samples."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cmbuild.verify.quality import _notes


@pytest.mark.parametrize(
    ("added", "notes"),
    [
        (0, ["read so"]),
        (900, ["read so", "the model has 100 samples; the other 900 of 1,000 are random"]),
    ],
)
def test_random_samples_are_told(added: int, notes: list[str]) -> None:
    source = SimpleNamespace(record=SimpleNamespace(notes=("read so",)))
    stage: Any = SimpleNamespace(
        plan=SimpleNamespace(source=source), added=added, samples=np.zeros(1000)
    )
    assert list(_notes(stage)) == notes
