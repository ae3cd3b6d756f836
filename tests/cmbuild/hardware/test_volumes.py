"""How volumes are found by their label."""

from __future__ import annotations

from pathlib import Path

from cmbuild.hardware.volumes import volumes


def mounts(folder: Path, *lines: str) -> Path:
    file = folder / "mounts"
    file.write_text("".join(f"{line} vfat rw 0 0\n" for line in lines))
    return file


def test_by_the_label_of_the_device(tmp_path):
    labels = tmp_path / "by-label"
    labels.mkdir()
    device = tmp_path / "sdb1"
    device.touch()
    (labels / "RP2350").symlink_to(device)
    table = mounts(tmp_path, f"{device} /mnt/a\\040board", "/dev/sda1 /")
    assert volumes("RP2350", table, labels) == [Path("/mnt/a board")]


def test_by_the_name_of_the_folder(tmp_path):
    table = mounts(
        tmp_path,
        "/dev/sdb1 /media/someone/RP2350",
        "/dev/sdc1 /run/media/someone/RP23501",
        "/dev/sdd1 /media/someone/RP2040",
        "/dev/sde1 /home/someone/RP2350",
        "/dev/sdf1 /media/someone/RP2350-backup",
    )
    assert volumes("RP2350", table, tmp_path / "none") == [
        Path("/media/someone/RP2350"),
        Path("/run/media/someone/RP23501"),
    ]


def test_one_volume_that_is_known_twice_is_one(tmp_path):
    (tmp_path / "sdb1").touch()
    (tmp_path / "RP2350").symlink_to(tmp_path / "sdb1")
    table = mounts(tmp_path, f"{tmp_path}/sdb1 /media/RP2350")
    assert volumes("RP2350", table, tmp_path) == [Path("/media/RP2350")]


def test_no_table_of_mounts(tmp_path):
    assert volumes("RP2350", tmp_path / "none", tmp_path) == []
