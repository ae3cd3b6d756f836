"""Ways to get firmware onto a board: what all of them have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from cmbuild.errors import CmbuildError, Missing, UnknownName, UsageError

if TYPE_CHECKING:
    from cmbuild.boards.board import Board
    from cmbuild.image.products import Uf2Format
    from cmbuild.process import Processes


class NotFlashed(UsageError):
    template = "{board} is no board that firmware is flashed onto"
    hint = "`cmbuild boards` lists what there is; docs/boards.md says how to add one's own"


class NoMethod(Missing):
    template = "nothing here can flash {board}: {reasons}"


@dataclass(frozen=True, slots=True)
class Way:
    """Which of several boards, volumes or probes is meant; None where there is only one.

    Attributes:
        volume: folder where the boot loader's volume is mounted.
        probe: serial number of a debug probe.
    """

    volume: Path | None = None
    probe: str | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """A job for a method.

    Attributes:
        image: the ELF file; `.bin`, `.hex` and `.uf2` are beside it.
        log: gets what a tool prints.
        timeout: seconds after which it has failed.
    """

    board: Board
    image: Path
    way: Way
    log: Path
    timeout: float


class Method(ABC):
    """A way to flash. Subclasses are frozen dataclasses of the board's parameters.

    Attributes:
        name: its key in a board's descriptor.
        limit: seconds after which it has failed, if nobody says otherwise.
    """

    name: ClassVar[str]
    limit: ClassVar[float]

    @abstractmethod
    def find(self, way: Way) -> Path:
        """The program that flashes, or the place that it is done at.

        Raises:
            Missing: it is not there; the hint says how to get it.
            UsageError: there are several, and `way` does not say which.
        """

    @abstractmethod
    def describe(self, work: Work) -> Sequence[str]:
        """What `flash` would do, a line each, without doing it.

        Raises:
            CmbuildError: the files cannot be right for the board.
        """

    @abstractmethod
    def flash(self, work: Work, processes: Processes) -> str:
        """Flashes; returns where to, for people.

        Raises:
            CmbuildError: as `find` and `describe`; or it failed, and why.
        """


@dataclass(frozen=True, slots=True)
class Flashing:
    """How a board is flashed.

    Attributes:
        methods: by name, the preferred one first.
        uf2: what UF2 files must be like; None if the board takes none.
    """

    methods: Mapping[str, Method]
    uf2: Uf2Format | None = None

    def possible(self, way: Way) -> Method | None:
        """The first method that is possible here."""
        for method in self.methods.values():
            with suppress(CmbuildError):
                method.find(way)
                return method
        return None

    def choose(self, board: str, name: str | None, way: Way) -> Method:
        """The method of that name, or the first that is possible here.

        Raises:
            UnknownName: the board has no such method.
            NoMethod: none is possible, and why.
            UsageError: a method cannot tell which of several boards is meant.
        """
        if name is not None:
            if name not in self.methods:
                raise UnknownName(kind=f"way to flash {board}", name=name, known=self.methods)
            return self.methods[name]
        missing: list[CmbuildError] = []
        for method in self.methods.values():
            try:
                method.find(way)
            except Missing as error:
                missing.append(error)
            else:
                return method
        raise NoMethod(
            board=board,
            reasons="; ".join(error.message for error in missing),
            hint="; or ".join(str(error.hint) for error in missing),
        )
