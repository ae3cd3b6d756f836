"""Real boards in a rack: acquired, flashed if needed, run over their serial line, released."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from cmbuild.boards.board import Board
from cmbuild.errors import CmbuildError, Failed, Missing, ProcessFailed, TimedOut, UsageError
from cmbuild.hardware.conversation import GREETING_SECONDS, NoGreeting, OtherImage, Restarted
from cmbuild.hardware.port import CannotOpen, PortLost
from cmbuild.hardware.rack.address import RackAddress
from cmbuild.hardware.rack.flashing import FlashChoice, flash_at
from cmbuild.hardware.rack.lease import CannotCycle, Lease, NoneLeft, check_rack, held
from cmbuild.hardware.rack.messages import HeldPlace
from cmbuild.launchers.base import Launcher, ProperRun
from cmbuild.launchers.serial import SerialLine
from cmbuild.process import Processes


class CannotFlash(Missing):
    template = "{error}, and cannot be flashed: {reason}"


class FlashFailed(Failed):
    template = "{error}, and flashing it failed: {reason}"


# A board that runs an image greets at once, unless it is busy with another run.
_LOOK_SECONDS = 3.0

_UNWELL = (CannotFlash, FlashFailed, NoGreeting, CannotOpen, PortLost, TimedOut, Restarted)
_PERHAPS_THE_IMAGE = (TimedOut, Restarted)
_MOST_BOARDS = 2  # on which an image hangs before it is the image's fault


class OtherSpeed(UsageError):
    template = "the serial line of place {name} has {speed:,} baud, {board}'s has {baud:,}"
    hint = "`speed: {baud}` in the exporter's configuration sets it"


class RackLine(Launcher):
    """A board at a place of labgrid.

    Args:
        note: shows a line at once.
    """

    name = "labgrid"

    def __init__(
        self,
        address: RackAddress,
        board: Board,
        line: SerialLine,
        flashing: FlashChoice,
        note: Callable[[str], None],
    ) -> None:
        self._address = address
        self._board = board
        self._line = line
        self._flashing = flashing
        self._note = note
        self._place: str | None = None

    @property
    def title(self) -> str:
        return f"hardware at labgrid's {self._place or self._address.title}"

    @property
    def provenance(self) -> str:
        return self._line.provenance

    @property
    def seconds_per_byte(self) -> float:
        return self._line.seconds_per_byte

    @property
    def unit(self) -> str:
        return self._line.unit

    def instructions(self, ticks: int) -> int | None:
        return self._line.instructions(ticks)

    def find(self) -> Path:
        return Path(str(self._address))

    def check(self, processes: Processes, logs: Path) -> None:
        """Raises as check_rack."""
        check_rack(self._address, processes, logs / "labgrid.txt")

    def run(
        self, processes: Processes, image: Path, folder: Path, *, timeout: float, log: Path
    ) -> ProperRun:
        """
        Raises, in addition to those of a serial line, of a flash method, and of `held`:
            OtherSpeed.
        """

        def start(line: SerialLine, patience: float) -> ProperRun:
            return line.run(processes, image, folder, timeout=timeout, log=log, patience=patience)

        hung: Counter[type[CmbuildError]] = Counter()
        cycled: set[str] = set()
        with held(self._address, processes, log.with_name("labgrid.txt"), self._note) as lease:
            while True:
                try:
                    return self._attempt(lease.place, processes, image, log, start)
                except _UNWELL as error:
                    if lease.place.name not in cycled:
                        cycled.add(lease.place.name)
                        if self._cycled(lease, error):
                            continue
                    hung[type(error)] += 1
                    is_hopeless = hung[type(error)] >= _MOST_BOARDS
                    if isinstance(error, _PERHAPS_THE_IMAGE) and is_hopeless:
                        raise
                    self._leave_out(lease, error)

    def _attempt(
        self,
        place: HeldPlace,
        processes: Processes,
        image: Path,
        log: Path,
        start: Callable[[SerialLine, float], ProperRun],
    ) -> ProperRun:
        """
        Args:
            start: runs the image, which must greet within so many seconds.
        """
        board = self._board
        self._place = place.name
        if place.speed != self._line.baud:
            raise OtherSpeed(
                name=place.name, speed=place.speed, board=board.name, baud=self._line.baud
            )
        line = SerialLine(self._line.baud, port=place.port)
        try:
            return start(line, _LOOK_SECONDS)
        except (OtherImage, NoGreeting) as error:
            log, choice = log.with_name("flash.txt"), self._flashing
            try:
                way = flash_at(place, board, image, choice, processes=processes, log=log)
            except (Missing, Failed, ProcessFailed, TimedOut) as reason:
                kind = CannotFlash if isinstance(reason, Missing) else FlashFailed
                raise kind(error=error.message, reason=reason.message, hint=reason.hint) from reason
            self._note(f"{place.name} is flashed, by {way}")
        return start(line, GREETING_SECONDS)

    def _cycled(self, lease: Lease, error: CmbuildError) -> bool:
        """Whether the board could be switched off and on."""
        try:
            lease.cycle()
        except CannotCycle as reason:
            self._note(f"{error.message}; {reason.message}")
            return False
        self._note(f"{error.message}; {lease.place.name} is power-cycled")
        return True

    def _leave_out(self, lease: Lease, error: CmbuildError) -> None:
        """Waits for another board; raises `error` if there is none."""
        if self._address.place is not None:
            raise error
        try:
            lease.leave_out(error.message)
        except NoneLeft:
            raise error from None
