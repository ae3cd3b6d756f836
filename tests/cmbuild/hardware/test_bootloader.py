"""Copying to a boot loader's volume, and what may go wrong with it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from harness.flashing import INFO, BootRom, make_volume, small_volume

from cmbuild.catalog import find_board
from cmbuild.errors import ExitCode, Interrupted
from cmbuild.hardware.method import FlashJob, Selection
from cmbuild.hardware.methods import uf2 as bootloader
from cmbuild.hardware.methods.uf2 import CopyFailed, NotTaken, NoVolume, SeveralVolumes, WrongVolume
from cmbuild.hardware.registry import flashing
from cmbuild.image import uf2
from cmbuild.image.products import WrongFamily
from cmbuild.process import Processes

BOARD = find_board("rp2350")
METHOD = flashing(BOARD).methods["uf2"]
FAMILY, IGNORED = METHOD.family, METHOD.ignored_block


@pytest.fixture
def image(tmp_path: Path) -> Path:
    data = uf2.encode([(0x10000000, os.urandom(100_000))], FAMILY, IGNORED)
    (tmp_path / "image.uf2").write_bytes(data)
    return tmp_path / "image.elf"


def work(image: Path, volume: Path | None, timeout: float = 30.0) -> FlashJob:
    return FlashJob(BOARD, image, Selection(volume=volume), image.with_suffix(".txt"), timeout)


def test_the_whole_file_arrives(image, tmp_path):
    volume = make_volume(tmp_path / "RP2350")
    with BootRom(volume) as board:
        assert METHOD.flash(work(image, volume), Processes()) == str(volume)
    assert board.flashed == image.with_suffix(".uf2").read_bytes()


def test_the_volume_is_found(image, tmp_path, monkeypatch):
    volume = make_volume(tmp_path / "RP2350")
    monkeypatch.setattr(bootloader, "volumes", lambda label: [volume] if label == "RP2350" else [])
    assert METHOD.find(Selection()) == volume
    first, second = METHOD.describe(work(image, None))
    assert first == f"copy {image.with_suffix('.uf2')} to {volume}: 97.8 KB of flash"
    assert second == "wait up to 30 s for the board to restart"
    assert sorted(path.name for path in volume.iterdir()) == ["INFO_UF2.TXT"]


def test_no_volume(monkeypatch):
    monkeypatch.setattr(bootloader, "volumes", lambda label: [])
    with pytest.raises(NoVolume, match="no RP2350 volume found") as error:
        METHOD.find(Selection())
    assert error.value.exit_code is ExitCode.MISSING
    assert "BOOTSEL" in error.value.hint


def test_several_volumes(monkeypatch, tmp_path):
    listed = [make_volume(tmp_path / name) for name in ("RP2350", "RP23501")]
    monkeypatch.setattr(bootloader, "volumes", lambda label: listed)
    with pytest.raises(SeveralVolumes, match=r"RP2350, .*RP23501") as error:
        METHOD.find(Selection())
    assert error.value.exit_code is ExitCode.USAGE
    assert METHOD.find(Selection(volume=listed[1])) == listed[1]


@pytest.mark.parametrize(
    ("info", "problem"),
    [
        (INFO.replace("RP2350", "RPI-RP2"), "says Board-ID: RPI-RP2"),
        ("UF2 Bootloader v1.0\n", "has no Board-ID"),
        (None, "no such file or directory"),
    ],
)
def test_another_boards_volume_is_left_alone(image, tmp_path, info, problem):
    volume = tmp_path / "RP2350"
    make_volume(volume, info or "")
    if info is None:
        (volume / "INFO_UF2.TXT").unlink()
    before = sorted(volume.iterdir())
    with pytest.raises(WrongVolume, match=problem):
        METHOD.flash(work(image, volume), Processes())
    assert sorted(volume.iterdir()) == before


def test_a_wrong_file_never_reaches_the_board(image, tmp_path):
    volume = make_volume(tmp_path / "RP2350")
    image.with_suffix(".uf2").write_bytes(uf2.encode([(0x10000000, b"x")], 0xE48BFF56))
    with pytest.raises(WrongFamily):
        METHOD.flash(work(image, volume), Processes())
    assert [path.name for path in volume.iterdir()] == ["INFO_UF2.TXT"]


def test_a_volume_that_fills_up(image, tmp_path):
    full = pytest.raises(CopyFailed, match=r"it is full after .* of 196")
    with small_volume(tmp_path / "RP2350", 64 << 10) as volume, full as error:
        METHOD.flash(work(image, volume), Processes())
    assert error.value.exit_code is ExitCode.FAILED


def fail_after(monkeypatch, chunks: int, volume: Path | None) -> None:
    """From so many chunks on, writes end with the error of a device that is gone."""
    sync, count = os.fsync, 0

    def fsync(number: int) -> None:
        nonlocal count
        count += 1
        if count > chunks:
            if volume is not None:
                (volume / "INFO_UF2.TXT").unlink()
            raise OSError(errno.EIO, "Input/output error")
        sync(number)

    monkeypatch.setattr(os, "fsync", fsync)


def test_a_volume_that_disappears_half_way(image, tmp_path, monkeypatch):
    volume = make_volume(tmp_path / "RP2350")
    fail_after(monkeypatch, 1, volume)
    with pytest.raises(CopyFailed, match="it disappeared after 128 KB of 196") as error:
        METHOD.flash(work(image, volume), Processes())
    assert "plug it in again" in error.value.hint


def test_a_volume_that_fails_and_stays(image, tmp_path, monkeypatch):
    volume = make_volume(tmp_path / "RP2350")
    fail_after(monkeypatch, 1, None)
    with pytest.raises(CopyFailed, match="input/output error after 128 KB"):
        METHOD.flash(work(image, volume), Processes())


def test_a_board_that_restarts_before_the_last_call_returns(image, tmp_path, monkeypatch):
    volume = make_volume(tmp_path / "RP2350")
    fail_after(monkeypatch, 3, volume)
    METHOD.flash(work(image, volume), Processes())


def test_a_board_that_does_not_restart(image, tmp_path):
    volume = make_volume(tmp_path / "RP2350")
    with pytest.raises(NotTaken, match=r"did not restart within 0.2 s"):
        METHOD.flash(work(image, volume, timeout=0.2), Processes())


def test_interrupted(image, tmp_path):
    volume = make_volume(tmp_path / "RP2350")
    processes = Processes()
    processes.terminate()
    with pytest.raises(Interrupted):
        METHOD.flash(work(image, volume), processes)
