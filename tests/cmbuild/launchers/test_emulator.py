"""Memory as Unicorn has it: whole pages, which regions and registers may share."""

from __future__ import annotations

import pytest

from cmbuild.launchers.emulator import _mapped


@pytest.mark.parametrize(
    ("places", "runs"),
    [
        ([(0x2007E800, 14 << 10)], [(0x2007E800, 14 << 10)]),
        ([(0xE0001004, 1)], [(0xE0001000, 1024)]),
        ([(0xE0001004, 4), (0xE0001000, 1)], [(0xE0001000, 1024)]),
        ([(0, 1000), (1024, 8)], [(0, 2048)]),
        ([(100, 8), (0, 4096)], [(0, 4096)]),
        ([(0, 8), (4096, 8)], [(0, 1024), (4096, 1024)]),
    ],
)
def test_places_are_mapped_once(places: list[tuple[int, int]], runs: list[tuple[int, int]]) -> None:
    assert _mapped(places) == runs
