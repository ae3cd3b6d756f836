"""What fits is what it is on one machine, wherever it was found."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.commands import NETWORK, PROGRAMS, Commands

FIT = ("fit", NETWORK, PROGRAMS / "two_inputs.pte", "--board", "rp2350", "--board", "microbit")


@pytest.fixture
def cmbuild(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Commands:
    return Commands.in_folder_of(tmp_path, tmp_path_factory)


def test_workers_give_the_same(cmbuild: Commands) -> None:
    spread = cmbuild(*FIT, "--json", "--workers", "1")
    assert spread.exit_code == 0, spread.stderr
    assert len(spread.document["fits"]) == 4
    assert spread.document["fits"] == cmbuild(*FIT, "--json").document["fits"]
