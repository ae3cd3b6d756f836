"""One module names the folders of the cache, so that cleaning knows them all."""

from __future__ import annotations

from harness.sources import MODULES

OWNER = "cmbuild.cache.folders"


def test_nobody_else_names_a_folder_of_the_cache() -> None:
    others = {
        name
        for name, path in MODULES.items()
        if name != OWNER and "paths.cache() /" in path.read_text()
    }
    assert others == set()
