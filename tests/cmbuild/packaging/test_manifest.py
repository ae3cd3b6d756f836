"""A package takes the place of an earlier one."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from cmbuild.packaging.manifest import MANIFEST, ChangedPackage, Manifest, remove_package


def write_package(folder: Path, **files: str) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    manifest = Manifest(
        cmbuild="0",
        model="kws",
        identity="",
        target="cortex-m55",
        isa="mve",
        needs_float=False,
        samples=1,
        versions={},
        files={path: hashlib.sha256(text.encode()).hexdigest() for path, text in files.items()},
    )
    (folder / MANIFEST).write_text(manifest.model_dump_json())


def listed(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


def test_files_of_an_earlier_package_go(tmp_path: Path) -> None:
    files = {"kws.h": "a", "runtime/kws_cm_add.c": "b", "runtime/deep/x.c": "c"}
    write_package(tmp_path, **files)
    (tmp_path / "mine.c").write_text("mine")
    remove_package(tmp_path, {"kws.h"})
    assert listed(tmp_path) == {"kws.h", "mine.c", MANIFEST}
    assert not (tmp_path / "runtime").exists()


def test_a_changed_file_stays_and_is_named(tmp_path: Path) -> None:
    write_package(tmp_path, **{"kws.h": "a", "kws.c": "b"})
    (tmp_path / "kws.c").write_text("my own")
    with pytest.raises(ChangedPackage, match=r"kws\.c belongs to an earlier package"):
        remove_package(tmp_path, set())
    assert listed(tmp_path) == {"kws.h", "kws.c", MANIFEST}


@pytest.mark.parametrize("path", ["../outside", "/{root}/outside"])
def test_nothing_outside_of_the_folder_goes(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    (tmp_path / "outside").write_text("a")
    write_package(folder, **{path.format(root=str(tmp_path).lstrip("/")): "a"})
    remove_package(folder, set())
    assert (tmp_path / "outside").read_text() == "a"


@pytest.mark.parametrize("text", ["", "[]", '{"name": "an npm package"}'])
def test_another_tools_manifest_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    remove_package(tmp_path, set())
    assert listed(tmp_path) == {MANIFEST}
