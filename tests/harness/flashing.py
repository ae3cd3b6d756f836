"""Stand-ins for flashing: a boot loader's volume, and debug probe programs."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cmbuild.image import uf2

PROGRAMS = ("openocd", "picotool", "probe-rs", "pyocd")

INFO = "UF2 Bootloader v1.0\r\nModel: Raspberry Pi RP2350\r\nBoard-ID: RP2350\r\n"


def path_without_programs(folder: Path) -> str:
    """A PATH with the system's programs but those that flash: this computer may have some."""
    folder.mkdir()
    for place in ("/bin", "/usr/bin"):
        for program in Path(place).iterdir():
            link = folder / program.name
            if program.name not in PROGRAMS and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)


def make_volume(folder: Path, info: str = INFO) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "INFO_UF2.TXT").write_text(info)
    return folder


class BootRom(threading.Thread):
    """Restarts and empties its volume once it has received a whole UF2 file.

    Attributes:
        flashed: bytes of the file, or None.
    """

    def __init__(self, volume: Path) -> None:
        super().__init__(daemon=True)
        self._volume = volume
        self._gone = threading.Event()
        self.flashed: bytes | None = None

    def __enter__(self) -> BootRom:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        self._gone.set()
        self.join()

    def run(self) -> None:
        while not self._gone.wait(0.01):
            for file in self._volume.glob("*.UF2"):
                data = file.read_bytes()
                with suppress(uf2.BrokenUf2):
                    uf2.decode(data, file.name)
                    self.flashed = data
                    for path in self._volume.iterdir():
                        path.unlink()
                    return


@contextmanager
def small_volume(folder: Path, size: int) -> Iterator[Path]:
    """A volume of this size: a tmpfs; without the right to mount one, a folder in which files named
    like the image link to /dev/full.
    """
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    program = shutil.which("mount")
    is_mounted = (
        program is not None
        and not subprocess.run(mount, check=False, capture_output=True).returncode
    )
    try:
        make_volume(folder)
        if not is_mounted:
            (folder / "IMAGE.UF2").symlink_to("/dev/full")
        yield folder
    finally:
        if is_mounted:
            subprocess.run(["umount", str(folder)], check=True)


def fake_tool(bin: Path, name: str, script: str = "") -> Path:
    """A program that writes its arguments, one per line, to `<name>.txt` beside it."""
    bin.mkdir(exist_ok=True)
    program = bin / name
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> "$0.txt"\n{script}\n')
    program.chmod(0o755)
    return program
