from __future__ import annotations

import pytest

from cmbuild import text
from cmbuild.text import count, size


def test_sizes_and_counts() -> None:
    assert [size(n) for n in (0, 1023, 1024, 1_509_744, 8 << 20)] == [
        "0 B",
        "1023 B",
        "1 KB",
        "1.44 MB",
        "8 MB",
    ]
    assert [count(n) for n in (0, 999, 1000, 5_250_000_000)] == ["0", "999", "1.0 k", "5.2 G"]


@pytest.mark.parametrize(
    ("share", "samples", "shown"),
    [(1.0, 1, "1 of 1"), (0.75, 8, "6 of 8"), (0.5, 20, "50.0 %"), (0.978, 360, "97.8 %")],
)
def test_few_samples_are_counted(share: float, samples: int, shown: str) -> None:
    assert text.rate(share, samples) == shown
