"""Commands with ExecuTorch's own suite, in a folder of each test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.commands import Commands, shared_cache


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_cache(tmp_path_factory)


@pytest.fixture
def cmbuild(tmp_path: Path, cache: Path) -> Commands:
    return Commands(tmp_path, cache)
