"""How the board of a place is flashed."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from harness.flashing import fake_tool

from cmbuild.catalog import find_board
from cmbuild.hardware.method import Selection
from cmbuild.hardware.rack.flashing import FlashChoice, NoBootLoader, Untold, flash_at, is_here
from cmbuild.hardware.rack.messages import HeldPlace
from cmbuild.process import Processes

PLACE = HeldPlace(
    "pico-1",
    "socket://localhost:4000",
    921600,
    "localhost",
    {"flash": "probe-rs", "probe": "E66", "volume": "/media/a"},
)


def test_the_tags_of_a_place_say_how() -> None:
    chosen = FlashChoice().at(PLACE)
    assert chosen == FlashChoice("probe-rs", Selection(Path("/media/a"), "E66"))


def test_options_come_first() -> None:
    choice = FlashChoice("uf2", Selection(Path("/media/b"), "F77"))
    assert choice.at(PLACE) == choice


def test_the_probe_of_the_place_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = fake_tool(tmp_path / "bin", "probe-rs")
    monkeypatch.setenv("PATH", str(tool.parent), prepend=":")
    way = flash_at(
        PLACE,
        find_board("rp2350"),
        tmp_path / "runner.elf",
        FlashChoice(),
        processes=Processes(),
        log=tmp_path / "log",
    )
    words = Path(f"{tool}.txt").read_text().splitlines()
    assert way == "probe-rs"
    assert words[words.index("--probe") + 1] == "E66"


def test_no_other_boards_volume_is_written_to(tmp_path: Path) -> None:
    choice = FlashChoice("uf2", Selection(tmp_path / "gone"))
    with pytest.raises(NoBootLoader, match=r"volume is not mounted at .*gone"):
        flash_at(
            PLACE,
            find_board("rp2350"),
            tmp_path / "runner.elf",
            choice,
            processes=Processes(),
            log=tmp_path / "log",
        )


@pytest.mark.parametrize("method", [None, "pyocd"])
def test_no_other_boards_probe_is_used(tmp_path: Path, method: str | None) -> None:
    for host in ("localhost", "lab-3"):
        with pytest.raises(Untold, match="pico-2 does not say which probe or volume"):
            flash_at(
                HeldPlace("pico-2", "socket://localhost:4000", 921600, host),
                find_board("rp2350"),
                tmp_path / "runner.elf",
                FlashChoice(method),
                processes=Processes(),
                log=tmp_path / "log",
            )


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", socket.gethostname()])
def test_this_computer(host: str) -> None:
    assert is_here(host) and not is_here(f"not-{host}")
