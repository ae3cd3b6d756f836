"""The record of what cmbuild wrote for users."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.cache.cleaning import clean_cache
from cmbuild.cache.folders import CacheFolder
from cmbuild.outputs.ledger import Ledger


def test_cleaning_the_cache_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMBUILD_CACHE", str(tmp_path / "cache"))
    ledger, file = Ledger(), tmp_path / "report.html"
    assert not ledger.has(file)
    ledger.enter(file, None, "digest")
    CacheFolder.EXPORTS.path.mkdir(parents=True)
    clean_cache(lambda _: None)
    assert not CacheFolder.EXPORTS.path.exists()
    assert ledger.has(file) and ledger.knows(file, "digest")
    assert not ledger.knows(file, "another") and not ledger.has(tmp_path / "another.html")


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"sha256": 3}', '{"sha256": [3]}', "\x00"])
def test_an_entry_that_cannot_be_read_is_none(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMBUILD_CACHE", str(tmp_path / "cache"))
    ledger = Ledger()
    ledger.enter(tmp_path / "a", None, "digest")
    (entry,) = (path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    entry.write_text(text)
    assert not ledger.has(tmp_path / "a") and not ledger.knows(tmp_path / "a", "digest")
