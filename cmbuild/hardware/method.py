"""Flash methods: ways to get firmware onto a board."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from cmbuild.boards.board import Board
from cmbuild.process import Processes
from cmbuild.strictfile import Table


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of several volumes or probes to use; None if not selected.

    Attributes:
        volume: folder where the boot loader's volume is mounted.
        probe: serial number of a debug probe.
    """

    volume: Path | None = None
    probe: str | None = None


@dataclass(frozen=True, slots=True)
class FlashJob:
    """An image to flash.

    Attributes:
        image: the ELF file; `.bin`, `.hex` and `.uf2` are beside it.
        log: gets the output of tools.
        timeout: seconds after which it has failed.
    """

    board: Board
    image: Path
    selection: Selection
    log: Path
    timeout: float


class FlashMethod(Table, ABC):
    """A flash method: [flash.NAME] of a descriptor, whose keys are the fields of a subclass.

    Attributes:
        name: its key in a board's descriptor.
        limit: seconds after which it has failed, by default.
        needs_volume: whether it writes to a volume of a boot loader.
    """

    name: ClassVar[str]
    limit: ClassVar[float]
    needs_volume: ClassVar[bool] = False

    def prepare(self, image: Path) -> None:
        """Writes the file that it flashes beside the ELF file, if not `.bin` or `.hex`."""

    @abstractmethod
    def find(self, selection: Selection) -> Path:
        """The program that flashes, or the volume or port.

        Raises:
            Missing: not found; the hint says how to get it.
            UsageError: several found, and `selection` does not choose one.
        """

    @abstractmethod
    def describe(self, job: FlashJob) -> Sequence[str]:
        """The actions of `flash`, one line each, without doing them.

        Raises:
            CmbuildError: the files do not suit the board.
        """

    @abstractmethod
    def flash(self, job: FlashJob, processes: Processes) -> str:
        """Flashes; returns the target, for people.

        Raises:
            CmbuildError: as `find` and `describe`; or flashing failed.
        """
