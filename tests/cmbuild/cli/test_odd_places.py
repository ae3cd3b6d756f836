"""Names and folders that nobody would choose, and that destroy nothing."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from harness.commands import NETWORK, Commands


def test_a_model_called_like_the_folder_above(cmbuild: Commands) -> None:
    shutil.copy(NETWORK, cmbuild.folder / "...pte")
    kept = cmbuild.folder / "native" / "plan" / "keep"
    kept.parent.mkdir(parents=True)
    kept.touch()
    result = cmbuild("run", "...pte", "--board", "native")
    assert result.exit_code == 0, result.stderr
    assert kept.exists()
    assert (cmbuild.folder / "build" / "model" / "native" / "runner").is_dir()


@pytest.mark.parametrize("verb", ["run", "package", "export"])
def test_an_output_folder_that_is_a_file(cmbuild: Commands, verb: str) -> None:
    (cmbuild.folder / "out").write_text("kept")
    words = {
        "run": (NETWORK, "--board", "native"),
        "package": (NETWORK,),
        "export": ("digits",),
    }[verb]
    result = cmbuild(verb, *words, "--output-dir", "out")
    assert result.exit_code == 2
    assert "out is not a folder" in result.stderr
    assert (cmbuild.folder / "out").read_text() == "kept"


def test_a_working_folder_that_is_gone(cmbuild: Commands) -> None:
    gone = cmbuild.folder / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir ../gone; exec "$@"', "sh", *cmbuild.argv("boards")],
        cwd=gone,
        env=cmbuild.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: the working folder no longer exists\n  try: cd to another folder\n"
    )
