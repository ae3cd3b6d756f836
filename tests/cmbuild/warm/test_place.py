"""The shared process listens where nobody else can, and serves what it would inherit to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cmbuild.warm import place as module
from cmbuild.warm.place import WarmPlace, shared_place


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    tmp_path.chmod(0o700)
    return {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": "/home/a"}


def placed(environ: dict[str, str]) -> WarmPlace:
    place = shared_place(environ)
    assert place is not None
    return place


def test_folder_is_private(environ: dict[str, str], tmp_path: Path) -> None:
    folder = placed(environ).socket.parent
    assert folder == tmp_path / "cmbuild"
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o750, 0o701, 0o777])
def test_folder_that_others_can_enter_is_not_used(
    environ: dict[str, str], tmp_path: Path, mode: int
) -> None:
    (tmp_path / "cmbuild").mkdir()
    (tmp_path / "cmbuild").chmod(mode)
    assert shared_place(environ) is None


def test_link_is_not_followed(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "cmbuild").symlink_to(tmp_path / "real")
    assert shared_place(environ) is None


def test_without_a_private_runtime_folder_one_is_made(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "t").mkdir()
    monkeypatch.setattr(module, "gettempdir", lambda: str(tmp_path / "t"))
    assert placed(environ).socket == tmp_path / "t" / f"cmbuild-{os.getuid()}" / "exports"


@pytest.mark.parametrize(
    "change",
    [{"CMBUILD_WARM": "off"}, {"CI": "true"}, {"XDG_RUNTIME_DIR": "/" + "x" * 200}],
    ids=lambda change: next(iter(change)),
)
def test_no_shared_process(
    environ: dict[str, str], change: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "gettempdir", lambda: "/nowhere")
    assert shared_place(environ | change) is None


def test_in_ci_if_asked_for(environ: dict[str, str]) -> None:
    assert shared_place(environ | {"CI": "true", "CMBUILD_WARM": "on"}) is not None


def test_key_tells_what_an_export_inherits(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = placed(environ).key
    assert placed(environ | {"EDITOR": "ed", "COLUMNS": "80"}).key == key
    assert placed(environ | {"OMP_NUM_THREADS": "3"}).key != key
    assert placed(environ | {"HOME": "/home/b"}).key != key
    packages = tmp_path / "packages"
    packages.mkdir()
    monkeypatch.syspath_prepend(packages)
    added = placed(environ).key
    (packages / "torch-9.0.dist-info").mkdir()
    assert len({key, added, placed(environ).key}) == 3
    monkeypatch.setattr(module, "_sources", lambda package: [tmp_path])
    assert placed(environ).key != added
