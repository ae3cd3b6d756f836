"""Boards whose boot loader appears as a volume and accepts a UF2 file."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

from cmbuild.boards.descriptor import Address
from cmbuild.errors import Failed, Interrupted, Missing, UsageError
from cmbuild.hardware.method import FlashJob, FlashMethod, Selection
from cmbuild.hardware.volumes import volumes
from cmbuild.image.products import check_uf2, write_uf2
from cmbuild.process import Processes
from cmbuild.text import size

INFO = "INFO_UF2.TXT"

_CHUNK = 64 * 1024
_PERIOD = 0.1  # seconds between checks whether a volume has disappeared


class NoVolume(Missing):
    template = "no {label} volume found"
    hint = "hold BOOTSEL while plugging the board in, and mount the volume"


class SeveralVolumes(UsageError):
    template = "several boards are waiting for a file: {volumes}"
    hint = "--volume FOLDER selects one"


class WrongVolume(UsageError):
    template = "{volume} is not the boot loader of a board {wanted}: {problem}"


class CopyFailed(Failed):
    template = "{volume}: {problem} after {done} of {total}"
    hint = "the board waits for a complete file: plug it in again and repeat"


class NotTaken(Failed):
    template = "{volume} did not restart within {seconds:g} s after receiving the whole file"
    hint = "plug the board in again; if another UF2 file fails too, suspect the board"


class Bootloader(FlashMethod):
    """Copies the `.uf2` to the boot loader's volume, found by its label, and waits for the board
    to restart; `--volume DIR` selects one of several volumes.

    Attributes:
        volume: its label.
        board_id: as in `INFO_UF2.TXT`.
        family: of devices that accept the file.
        ignored_block: address of a first block that the board ignores; optional.
    """

    name = "uf2"
    needs_volume = True
    limit = 30.0  # boards restart within a second, but desktops may notice late

    volume: str
    board_id: str
    family: Address
    ignored_block: Address | None = None

    def prepare(self, image: Path) -> None:
        write_uf2(image, self.family, self.ignored_block)

    def find(self, selection: Selection) -> Path:
        mounted = [selection.volume] if selection.volume is not None else volumes(self.volume)
        if not mounted:
            raise NoVolume(label=self.volume)
        if len(mounted) > 1:
            raise SeveralVolumes(volumes=", ".join(map(str, mounted)))
        self._check_info(mounted[0])
        return mounted[0]

    def describe(self, job: FlashJob) -> Sequence[str]:
        file = job.image.with_suffix(".uf2")
        flashed = size(check_uf2(file, job.board, self.family))
        place, missing = f"the volume {self.volume}", []
        try:
            place = str(self.find(job.selection))
        except NoVolume as error:
            missing.append(f"but {error.message}: {error.hint}")
        return [
            f"copy {file} to {place}: {flashed} of flash",
            f"wait up to {job.timeout:g} s for the board to restart",
            *missing,
        ]

    def flash(self, job: FlashJob, processes: Processes) -> str:
        file = job.image.with_suffix(".uf2")
        check_uf2(file, job.board, self.family)
        volume = self.find(job.selection)
        _copy(file.read_bytes(), volume / file.name.upper(), processes)
        self._wait(volume, job.timeout, processes)
        return str(volume)

    def _check_info(self, volume: Path) -> None:
        wanted = self.board_id
        try:
            info = (volume / INFO).read_text(errors="replace")
        except OSError as error:
            problem = f"{INFO}: {(error.strerror or str(error)).lower()}"
            raise WrongVolume(volume=volume, wanted=wanted, problem=problem) from error
        match = re.search(r"^Board-ID:\s*(.+?)\s*$", info, re.MULTILINE)
        if match is None or match[1] != wanted:
            says = "has no Board-ID" if match is None else f"says Board-ID: {match[1]}"
            raise WrongVolume(volume=volume, wanted=wanted, problem=f"{INFO} {says}")

    def _wait(self, volume: Path, timeout: float, processes: Processes) -> None:
        deadline = time.monotonic() + timeout
        while _is_there(volume):
            if processes.is_ended:
                raise Interrupted()
            if time.monotonic() > deadline:
                raise NotTaken(volume=volume, seconds=timeout)
            time.sleep(_PERIOD)


def _copy(data: bytes, target: Path, processes: Processes) -> None:
    """Writes a file to the volume, directly under its final name: a boot loader sees blocks, not
    names, and starts the image only when all blocks are there, so half a file does no harm.

    The board restarts with the last block, so the volume may disappear before the last call
    returns. Errors are ignored from then on; the caller checks whether the board restarted.
    """
    written = 0
    try:
        with target.open("wb", buffering=0) as stream:
            while written < len(data):
                if processes.is_ended:
                    raise Interrupted()
                written += stream.write(data[written : written + _CHUNK])
                os.fsync(stream.fileno())
    except OSError as error:
        if written < len(data) or error.errno == errno.ENOSPC:
            what = "it is full" if error.errno == errno.ENOSPC else "it disappeared"
            if _is_there(target.parent) and error.errno != errno.ENOSPC:
                what = (error.strerror or str(error)).lower()
            raise CopyFailed(
                volume=target.parent, problem=what, done=size(written), total=size(len(data))
            ) from error


def _is_there(volume: Path) -> bool:
    try:
        return (volume / INFO).exists()
    except OSError:  # between unplugged and unmounted
        return False


TABLE = Bootloader
