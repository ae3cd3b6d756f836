"""Flashing the board of a place, on the computer that it is connected to."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from pathlib import Path

from cmbuild.boards.board import Board
from cmbuild.errors import Missing, UnknownName, UsageError
from cmbuild.hardware.method import FlashJob, Selection
from cmbuild.hardware.rack.messages import HeldPlace
from cmbuild.hardware.rack.remote import SshHost, flash_there
from cmbuild.hardware.registry import Flashing, NotFlashed, flashing
from cmbuild.process import Processes


class NoBootLoader(Missing):
    template = "its boot loader's volume is not mounted at {volume}"
    hint = "boards enter their boot loader by a button; a debug probe flashes them at any time"


class Untold(UsageError):
    template = "place {name} does not say which probe or volume is its board's"
    hint = "`labgrid-client -p {name} set-tags probe=SERIAL`, or --probe or --volume here"


@dataclass(frozen=True, slots=True)
class FlashChoice:
    """How to flash; where None, a place's tags count.

    Attributes:
        method: its name.
    """

    method: str | None = None
    selection: Selection = field(default_factory=Selection)

    def at(self, place: HeldPlace) -> FlashChoice:
        """With the place's tags."""
        tags, chosen = place.tags, self.selection
        volume = chosen.volume or (Path(tags["volume"]) if "volume" in tags else None)
        selection = Selection(volume, chosen.probe or tags.get("probe"))
        return FlashChoice(self.method or tags.get("flash"), selection)


def flash_at(
    place: HeldPlace,
    board: Board,
    image: Path,
    choice: FlashChoice,
    *,
    processes: Processes,
    log: Path,
) -> str:
    """Flashes an image.

    Returns: the method's name.

    Raises:
        NotFlashed, UnknownName, NoMethod, UsageError: see Flashing.choose.
        CmbuildError: flashing failed.
    """
    if (known := flashing(board)) is None:
        raise NotFlashed(board=board.name)
    chosen = choice.at(place)
    if chosen.method is not None and chosen.method not in known.methods:
        raise UnknownName(
            kind=f"way to flash {board.name}", name=chosen.method, known=known.methods
        )
    selection = chosen.selection
    if not is_here(place.host):
        there = SshHost(place.host, processes, log)
        if selection.probe is None:
            raise Untold(name=place.name)
        return flash_there(
            there, known, board.name, image, method=chosen.method, selection=selection
        )
    suitable = _suitable(place, known, chosen)
    way = suitable.choose(board.name, chosen.method, selection)
    way.flash(FlashJob(board, image, selection, log, way.limit), processes)
    return way.name


def _suitable(place: HeldPlace, known: Flashing, chosen: FlashChoice) -> Flashing:
    """Only methods that are told which board is the place's: any other probe or volume is that of
    another board.
    """
    volume, probe = chosen.selection.volume, chosen.selection.probe
    is_waiting = volume is not None and volume.is_dir() and any(volume.iterdir())
    told = {
        name: way
        for name, way in known.methods.items()
        if (is_waiting if way.needs_volume else probe is not None)
    }
    if chosen.method in told or (chosen.method is None and told):
        return Flashing(told)
    if volume is not None:
        raise NoBootLoader(volume=volume)
    raise Untold(name=place.name)


def is_here(host: str) -> bool:
    """Whether a name or address is this computer's."""
    return host in ("localhost", "::1", socket.gethostname(), socket.getfqdn()) or host.startswith(
        "127."
    )
