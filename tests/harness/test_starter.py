"""Commands from the starter end as commands of their own do."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from harness.commands import Commands


@pytest.fixture
def cmbuild(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Commands:
    return Commands.in_folder_of(tmp_path, tmp_path_factory)


@pytest.mark.parametrize("words", [("boards", "--json"), ("run", "no such", "--board", "native")])
def test_a_command_is_as_one_alone(cmbuild: Commands, words: tuple[str, ...]) -> None:
    assert cmbuild(*words) == cmbuild.alone(*words)


def test_folder_and_environment_are_the_command_s(cmbuild: Commands) -> None:
    place = cmbuild.folder / "places" / "mine"
    place.mkdir(parents=True)
    (place / "board.toml").write_text("nonsense")
    here = replace(cmbuild, environment={"CMBUILD_BOARD_PATH": "places"})
    assert "places/mine/board.toml" in here("boards").stderr
    assert "CMBUILD_BOARD_PATH" not in os.environ
    assert cmbuild("boards").exit_code == 0


def test_commands_at_once_have_their_own_ends(cmbuild: Commands) -> None:
    calls = [("boards",), ("run", "no such", "--board", "native"), ("chips", "STM32F411")] * 2
    with ThreadPoolExecutor(len(calls)) as threads:
        results = list(threads.map(lambda words: cmbuild(*words), calls))
    assert [result.exit_code for result in results] == [0, 2, 0] * 2
    assert results[:3] == results[3:]
