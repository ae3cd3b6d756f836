"""Verbs that write files for their users write over nothing that others made or changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.commands import NETWORK, Commands

RUN = ("run", NETWORK, "--board", "native", "--feed", "whole")
BENCH = ("bench", "--models", NETWORK, "--boards", "native")
PROJECT = f'[models.net]\nsource = "{NETWORK}"\n[models.net.budget.native]\nflash = "1M"\n'

# The command, and the file of it that the test touches.
CASES = {
    "html": ((*RUN, "--html", "out/a.html"), "out/a.html"),
    "outputs": ((*RUN, "--output-dir", "out"), "out/output_0.npy"),
    "texts": ((*RUN, "--intermediates", "out"), "out/00-plan.txt"),
    "csv": ((*BENCH, "--csv", "out/a.csv"), "out/a.csv"),
    "markdown": ((*BENCH, "--markdown", "out/a.md"), "out/a.md"),
    "junit": (("check", "--junit", "out/a.xml"), "out/a.xml"),
}

LONG = ("csv", "markdown", "texts")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in CASES],
)
def test_only_own_files_are_written_over(cmbuild: Commands, name: str) -> None:
    words, place = CASES[name]
    file = cmbuild.folder / place
    (cmbuild.folder / "cmbuild.toml").write_text(PROJECT)
    file.parent.mkdir()
    file.write_text("mine")
    refused(cmbuild, words, f"{place} (not written by cmbuild)")
    assert file.read_text() == "mine"
    file.unlink()
    assert cmbuild(*words).exit_code == 0
    assert cmbuild(*words).exit_code == 0
    edit(file)
    refused(cmbuild, words, f"{place} (changed since cmbuild wrote it)")
    done = cmbuild(*words, "--force")
    assert done.exit_code == 0, done.stderr
    assert b"mine" not in file.read_bytes()


def refused(cmbuild: Commands, words: tuple[str | Path, ...], what: str) -> None:
    result = cmbuild(*words)
    assert result.exit_code == 2
    assert result.stderr == (
        f"error: would overwrite {what}\n  try: --force overwrites; or name another place\n"
    )


def edit(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"mine")
