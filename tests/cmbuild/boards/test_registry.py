"""Boards are found in the tree, in the project, on a path, and in installed packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.boards.registry import BrokenPackage, MissingFolder, board_folders, hides_builtin
from cmbuild.catalog import find_board
from cmbuild.errors import ExitCode, UnknownName


def make_board(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "board.toml").write_text('title = "t"\ncpu = "cortex-m0"\n[launchers]\n')
    return folder


def test_the_tree(tmp_path):
    assert {"corstone300", "native"} <= board_folders(tmp_path, {}).keys()


def test_project_and_path(tmp_path):
    mine = make_board(tmp_path / "project" / "boards" / "mine")
    ours = make_board(tmp_path / "ours" / "ours")
    environ = {"CMBUILD_BOARD_PATH": f"{tmp_path / 'ours'}:"}
    folders = board_folders(tmp_path / "project", environ)
    assert (folders["mine"], folders["ours"]) == (mine, ours)


def test_the_project_wins(tmp_path):
    mine = make_board(tmp_path / "boards" / "corstone300")
    assert board_folders(tmp_path, {})["corstone300"] == mine


def install(site: Path, package: str) -> None:
    """A distribution whose entry point names a package."""
    metadata = site / "their_boards-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: their-boards\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[cmbuild.boards]\ntheirs = {package}\n")


@pytest.mark.parametrize("files", [["__init__.py"], []], ids=["package", "namespace"])
def test_an_installed_package(files, tmp_path, monkeypatch):
    site = tmp_path / "site"
    theirs = make_board(site / "their_boards" / "theirs")
    for name in files:
        (site / "their_boards" / name).write_text("")
    install(site, "their_boards")
    monkeypatch.syspath_prepend(str(site))
    assert board_folders(tmp_path, {})["theirs"] == theirs


def test_a_package_installed_while_the_process_runs(tmp_path, monkeypatch):
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    assert "theirs" not in board_folders(tmp_path, {})
    theirs = make_board(site / "their_boards" / "theirs")
    install(site, "their_boards")
    assert board_folders(tmp_path, {})["theirs"] == theirs


@pytest.mark.parametrize(
    ("code", "package", "reason"),
    [
        (None, "their_boards", "it is not installed"),
        (None, "their_boards.boards", "ModuleNotFoundError: No module named 'their_boards'"),
        ("", "their_boards", "it is a module"),
        ("1 / 0", "their_boards.boards", "ZeroDivisionError: division by zero"),
    ],
)
def test_an_installed_package_that_is_broken(code, package, reason, tmp_path, monkeypatch):
    install(tmp_path, package)
    if code is not None:
        (tmp_path / "their_boards.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(BrokenPackage) as error:
        board_folders(tmp_path, {})
    assert error.value.message == (
        f"the entry point 'theirs' of cmbuild.boards names '{package}', "
        f"which is not a package: {reason}"
    )
    assert error.value.hint is not None and "distribution their-boards," in error.value.hint
    assert error.value.exit_code is ExitCode.USAGE


def test_a_missing_folder_on_the_path(tmp_path):
    with pytest.raises(MissingFolder, match="nowhere is not a folder") as error:
        board_folders(tmp_path, {"CMBUILD_BOARD_PATH": str(tmp_path / "nowhere")})
    assert error.value.exit_code is ExitCode.USAGE


def test_an_unknown_board():
    with pytest.raises(UnknownName, match="unknown board 'corstone30'") as error:
        find_board("corstone30")
    assert error.value.hint == "did you mean corstone300 or corstone320?"


def test_a_board_that_hides_one_of_cmbuild_is_known(tmp_path: Path):
    own = tmp_path / "boards" / "corstone300"
    own.mkdir(parents=True)
    (own / "board.toml").write_text("")
    assert hides_builtin(board_folders(tmp_path)["corstone300"])
    assert not hides_builtin(board_folders()["corstone300"])
