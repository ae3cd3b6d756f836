"""Flashing on another computer; ssh and scp are stand-ins that work in a folder of this one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from harness.flashing import fake_tool, path_without_programs

from cmbuild.catalog import find_board
from cmbuild.errors import ProcessFailed, UnknownName
from cmbuild.hardware.method import Selection
from cmbuild.hardware.rack.flashing import FlashChoice, flash_at
from cmbuild.hardware.rack.messages import HeldPlace
from cmbuild.hardware.rack.remote import NoProgramThere, NoSuchHost, NotByProgram
from cmbuild.process import Processes

SSH = """#!/bin/sh
while [ "$1" = -o ]; do shift 2; done
[ "$1" = lab-3 ] || { echo "ssh: Could not resolve hostname $1" >&2; exit 255; }
shift
PATH="$0.there:$0.system" exec sh -c "$*"
"""
SCP = """#!/bin/sh
while [ "$1" = -o ]; do shift 2; done
[ "$1" = -q ] && cp "$2" "${3#lab-3:}"
"""

Flash = Callable[..., str]


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of programs of the other computer."""
    bin = tmp_path / "bin"
    bin.mkdir()
    for name, text in (("ssh", SSH), ("scp", SCP)):
        (bin / name).write_text(text)
        (bin / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(bin), prepend=":")
    path_without_programs(bin / "ssh.system")
    programs = bin / "ssh.there"
    programs.mkdir()
    return programs


@pytest.fixture
def flash(tmp_path: Path) -> Flash:
    image = tmp_path / "an image.elf"
    image.write_bytes(b"firmware")

    def run(method: str | None = None, host: str = "lab-3") -> str:
        place = HeldPlace("pico-1", f"socket://{host}:4000", 921600, host)
        return flash_at(
            place,
            find_board("rp2350"),
            image,
            FlashChoice(method, Selection(probe="E66 1")),
            processes=Processes(),
            log=tmp_path / "log",
        )

    return run


def test_the_first_program_found_there_flashes(there: Path, flash: Flash, tmp_path: Path) -> None:
    copy = f'for word; do case $word in *.elf) cp "$word" {tmp_path}/flashed;; esac; done'
    tool = fake_tool(there, "pyocd", copy)
    fake_tool(there, "openocd")
    assert flash() == "pyocd on lab-3"
    words = Path(f"{tool}.txt").read_text().splitlines()
    assert words[:2] == ["load", "--no-wait"]
    assert words[words.index("--uid") + 1] == "E66 1"
    assert Path(words[-1]).name == "an image.elf"
    assert (tmp_path / "flashed").read_bytes() == b"firmware"
    assert not Path(words[-1]).parent.exists(), "nothing is left there"


def test_the_chosen_program_flashes(there: Path, flash: Flash) -> None:
    fake_tool(there, "pyocd")
    fake_tool(there, "openocd")
    assert flash("openocd") == "openocd on lab-3"


def test_a_program_that_fails(there: Path, flash: Flash) -> None:
    fake_tool(there, "pyocd", "echo Error: no probe E66; exit 1")
    with pytest.raises(ProcessFailed, match="pyocd on lab-3 failed with status 1: Error: no probe"):
        flash()


def test_no_program_there(there: Path, flash: Flash) -> None:
    with pytest.raises(NoProgramThere, match="rp2350 found on lab-3: picotool, probe-rs, pyocd"):
        flash()


def test_volumes_are_not_written_to_there(there: Path, flash: Flash) -> None:
    with pytest.raises(NotByProgram, match="uf2 works only on the computer"):
        flash("uf2")


def test_an_unknown_method(there: Path, flash: Flash) -> None:
    with pytest.raises(UnknownName, match="unknown way to flash rp2350 'pyocdd'"):
        flash("pyocdd")


@pytest.mark.parametrize("host", ["lab-4", "-oProxyCommand=true"])
def test_no_such_computer(there: Path, flash: Flash, host: str) -> None:
    with pytest.raises(NoSuchHost, match=f"no access to {host} by SSH: "):
        flash(host=host)
