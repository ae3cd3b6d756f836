"""What a newcomer types fits a terminal of 80 columns and 40 lines; `--all` gives the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.commands import NETWORK, PROGRAMS, Commands

from cmbuild.chips.table import chips
from cmbuild.report.text import SCREEN

IMAGE = PROGRAMS / "image.pte"

SCREENS = (
    ("boards",),
    ("boards", "corstone300"),
    ("chips",),
    ("chips", "stm32f4"),
    ("models",),
    ("doctor",),
    ("fit", NETWORK),
    ("fit", NETWORK, IMAGE),
    ("fit", NETWORK, "--board", "microbit"),
    ("build", IMAGE, "--board", "mps2-an505"),
    ("run", IMAGE, "--board", "mps2-an505"),
    ("explain", IMAGE, "--board", "mps2-an505"),
    ("package", NETWORK, "--target", "cortex-m4"),
    ("init", "--board", "mps2-an505"),
    ("new", "board", "mine", "--chip", "STM32F411RE"),
)


@pytest.mark.parametrize("words", SCREENS, ids=lambda words: " ".join(map(str, words[:2])))
def test_a_screen_has_room_for_it(cmbuild: Commands, words: tuple[str | Path, ...]) -> None:
    result = cmbuild(*words)
    lines = (result.stdout + result.stderr).splitlines()
    assert result.exit_code == 0, result.stderr
    # The next prompt is on the screen, too.
    assert len(lines) < SCREEN
    folders = (str(cmbuild.folder), str(cmbuild.cache))
    assert max(len(line) for line in lines if not any(name in line for name in folders)) <= 80


@pytest.mark.parametrize(
    ("words", "lines"), [(("chips",), len(chips())), (("chips", "stm32f4"), 100), (("doctor",), 40)]
)
def test_everything_is_listed_on_request(
    cmbuild: Commands, words: tuple[str, ...], lines: int
) -> None:
    shown, whole = cmbuild(*words), cmbuild(*words, "--all")
    assert (shown.exit_code, whole.exit_code) == (0, 0)
    assert len(whole.stdout.splitlines()) >= lines
    assert words[0] == "doctor" or "more: " in shown.stdout
    assert "more: " not in whole.stdout


def test_each_board_that_fits_is_listed_on_request(cmbuild: Commands) -> None:
    rows = cmbuild("fit", NETWORK, IMAGE, "--all").stdout.splitlines()
    document = cmbuild("fit", NETWORK, IMAGE, "--json").document
    for cell in document["fits"]:
        name = Path(cell["model"]).stem
        assert any(row.split()[:2] == [name, cell["board"]] for row in rows)


def test_all_blocks_are_explained_on_request(cmbuild: Commands) -> None:
    words = ("explain", IMAGE, "--board", "mps2-an505")
    whole = cmbuild(*words, "--blocks", "9").stdout
    document = cmbuild(*words, "--blocks", "9", "--json").document
    assert whole.count(" executions") == len(document["blocks"])
