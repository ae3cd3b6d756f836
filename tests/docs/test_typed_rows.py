"""The table of types in docs/accuracy.md: each of its cells, by bits."""

from __future__ import annotations

import pytest
from harness.runtime import Runtime
from harness.typed_rows import TYPES, runs, typed_program


@pytest.mark.parametrize("kind", TYPES)
def test_only_known_cells_keep_another_type(kind: str) -> None:
    """CMSIS-NN has no SVDF with other weights."""
    left = [row for row, does in runs(kind).items() if not does]
    known = {"8w8a": [], "8w16a": []}
    assert left == known.get(kind, ["svdf"])


def test_every_cell_has_the_bits_of_the_reference(runtime: Runtime) -> None:
    runtime.check(*map(typed_program, TYPES))
