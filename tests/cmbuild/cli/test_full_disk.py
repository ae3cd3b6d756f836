"""A disk that fills up: on the host as the guest sees it, and wherever in the work it happens."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.commands import NETWORK, Commands

Words = tuple[str | Path, ...]

RUN: Words = ("run", NETWORK, "--board", "corstone300")

QEMU = shutil.which("qemu-system-arm")


def test_outputs_that_cannot_be_written(fake_qemu: Callable[[str], Commands]) -> None:
    """The real QEMU and a real image; /dev/full has room for nothing."""
    commands = fake_qemu(f'ln -s /dev/full output0; exec {QEMU} "$@"')
    result = commands(*RUN)
    first, second = result.stderr.splitlines()
    assert (result.exit_code, first) == (1, "error: QEMU mps3-an547: cannot write output")
    log = Path(second.removeprefix("  try: the full output is in "))
    assert "cmrt error cannot write output" in log.read_text()


def test_a_disk_that_fills_up_on_the_way(cmbuild: Commands) -> None:
    """Build folders of so many KB: too few for the locks, for the plan, for the image."""
    disk = cmbuild.folder / "disk"
    disk.mkdir()
    assert cmbuild("build", *RUN[1:]).exit_code == 0  # the library is elsewhere, and there now
    words = cmbuild.argv(*RUN, "--build-dir", disk / "build")
    for size in (4, 60, 64, 200, 320):
        mounted = ("unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o size={size}k x "$0" && "$@"')
        if subprocess.run([*mounted, disk, "true"], check=False).returncode != 0:
            pytest.skip("no disk can be mounted here; other tests have stand-ins for full ones")
        done = subprocess.run(
            [*mounted, disk, *words],
            env=cmbuild.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr.count("\n")) == (3, 2)
        assert done.stderr.startswith(f"error: no space left on the disk that holds {disk}")


LISTS: list[Words] = [("boards",), ("boards", "--json"), ("models",)]


@pytest.mark.parametrize("words", [*LISTS, RUN, (*RUN, "--json")], ids=str)
def test_standard_output_that_cannot_be_written(cmbuild: Commands, words: Words) -> None:
    done = redirected(cmbuild, words, ">/dev/full")
    error = "error: no space left on the disk that holds standard output"
    assert (done.returncode, done.stderr.splitlines()[-2]) == (3, error)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", LISTS, ids=str)
def test_standard_output_that_is_not_there(cmbuild: Commands, words: Words) -> None:
    done = redirected(cmbuild, words, ">&-")
    assert (done.returncode, done.stderr) == (0, "")


def redirected(cmbuild: Commands, words: Words, where: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f'"$0" "$@" {where}', *cmbuild.argv(*words)],
        cwd=cmbuild.folder,
        env=cmbuild.variables,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
