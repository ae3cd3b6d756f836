"""One module names the folders of the cache, so that cleaning knows them all."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.sources import MODULES

from cmbuild.cache.folders import below, remove

OWNER = "cmbuild.cache.folders"


def test_nobody_else_names_a_folder_of_the_cache() -> None:
    others = {
        name
        for name, path in MODULES.items()
        if name != OWNER and "paths.cache() /" in path.read_text()
    }
    assert others == set()


def test_one_place_removes_folders() -> None:
    """The others remove what they have just made themselves."""
    others = {name for name, path in MODULES.items() if "rmtree" in path.read_text()}
    own = {
        "cmbuild.boards.template",
        "cmbuild.pipeline.stages.export",
        "cmcompiler.frontend.export",
    }
    assert others == {OWNER, *own}


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc", "../x", "a/"])
def test_a_name_that_leads_elsewhere(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not the name of a folder"):
        below(tmp_path, "model", name)


@pytest.mark.parametrize("path", ["..", ".", "../beside", "inside/../..", "link/kept"])
def test_nothing_outside_is_removed(path: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    for folder in (root / "inside", tmp_path / "beside", tmp_path / "elsewhere" / "kept"):
        folder.mkdir(parents=True)
    (root / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="is not below"):
        remove(root / path, root)
    assert (tmp_path / "elsewhere" / "kept").exists()
    remove(root / "inside", root)
    remove(root / "inside", root)
    assert not (root / "inside").exists()
