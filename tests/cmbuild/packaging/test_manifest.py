"""A package says which files are its own."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from cmbuild.packaging.manifest import MANIFEST, Manifest, own_files


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


def test_files_of_a_package_and_its_manifest_are_its_own(tmp_path: Path) -> None:
    files = {"kws.h": "a", "runtime/deep/x.c": "c"}
    write_package(tmp_path, **files)
    (tmp_path / "mine.c").write_text("mine")
    (tmp_path / "kws.h").write_text("changed")
    own = own_files(tmp_path)
    assert own.keys() == {tmp_path / path for path in (*files, MANIFEST)}
    assert own[tmp_path / "kws.h"] == hashlib.sha256(b"a").hexdigest()
    content = (tmp_path / MANIFEST).read_bytes()
    assert own[tmp_path / MANIFEST] == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("path", ["../outside", "/{root}/outside"])
def test_nothing_outside_of_the_folder_is_its_own(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    write_package(folder, **{path.format(root=str(tmp_path).lstrip("/")): "a"})
    assert own_files(folder).keys() <= {folder / MANIFEST}


@pytest.mark.parametrize("link", ["folder", "file"])
def test_nothing_that_a_link_leads_out_to_is_its_own(tmp_path: Path, link: str) -> None:
    folder, outside = tmp_path / "package", tmp_path / "outside"
    for each in (folder, outside):
        each.mkdir()
        write_package(each, **{"kws.h": "h", "sub/x.c": "a"})
    if link == "folder":
        (folder / "sub").rename(tmp_path / "moved")
        (folder / "sub").symlink_to(outside / "sub")
    else:
        (folder / "sub/x.c").unlink()
        (folder / "sub/x.c").symlink_to(outside / "sub/x.c")
    assert own_files(folder).keys() == {folder / "kws.h", folder / MANIFEST}


@pytest.mark.parametrize("path", ["x" * 5000, "d/" * 3000 + "x", "a\0b", "loop", "", "."])
def test_a_name_that_no_file_has_is_left_out(tmp_path: Path, path: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    write_package(tmp_path, **{"kws.h": "a"})
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    manifest["files"][path] = "0" * 64
    (tmp_path / MANIFEST).write_text(json.dumps(manifest))
    assert own_files(tmp_path).keys() == {tmp_path / "kws.h", tmp_path / MANIFEST}


@pytest.mark.parametrize("text", ["", "[]", '{"name": "an npm package"}'])
def test_another_tools_manifest_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    assert own_files(tmp_path) == {}
