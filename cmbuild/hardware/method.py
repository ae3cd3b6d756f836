"""A way to get firmware onto a board."""

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
    """Which of several volumes or probes to use; None where there is only one.

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
        log: gets what a tool prints.
        timeout: seconds after which it has failed.
    """

    board: Board
    image: Path
    selection: Selection
    log: Path
    timeout: float


class FlashMethod(Table, ABC):
    """A way to flash: [flash.NAME] of a descriptor, whose keys are the fields of a subclass.

    Attributes:
        name: its key in a board's descriptor.
        limit: seconds after which it has failed, if nobody says otherwise.
    """

    name: ClassVar[str]
    limit: ClassVar[float]

    def prepare(self, image: Path) -> None:
        """Puts the file that it takes beside an ELF file, if that is neither `.bin` nor `.hex`."""

    @abstractmethod
    def find(self, selection: Selection) -> Path:
        """The program that flashes, or the place that it is done at.

        Raises:
            Missing: it is not there; the hint says how to get it.
            UsageError: there are several, and `selection` does not say which.
        """

    @abstractmethod
    def describe(self, job: FlashJob) -> Sequence[str]:
        """What `flash` would do, a line each, without doing it.

        Raises:
            CmbuildError: the files cannot be right for the board.
        """

    @abstractmethod
    def flash(self, job: FlashJob, processes: Processes) -> str:
        """Flashes; returns where to, for people.

        Raises:
            CmbuildError: as `find` and `describe`; or it failed, and why.
        """
