"""flash: puts the image onto a real board."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from cmbuild.cache.store import Entry
from cmbuild.hardware.conversation import GREETING_SECONDS, NoGreeting, OtherImage
from cmbuild.hardware.method import FlashJob, FlashMethod, Selection
from cmbuild.hardware.port import CannotOpen, NoPort, PortLost, SerialPort, SeveralPorts, find_port
from cmbuild.hardware.registry import Flashing, NotFlashed, flashing
from cmbuild.launchers.real import hardware
from cmbuild.pipeline.request import FlashOptions
from cmbuild.pipeline.stages.runner import RunnerStage
from cmbuild.pipeline.stages.stage import RepeatedStage, StageKind
from cmbuild.process import Processes
from cmbuild.results import FlashResult

# A board that runs an image greets at once, unless it is busy with another run.
_LOOK_SECONDS = 3.0


class FlashStage(RepeatedStage):
    """Never cached: checks the board each time.

    Args:
        only_if_needed: skip flashing if the board already runs this image.

    Attributes:
        result: what was done; None until then, and if it is not to be shown.
    """

    kind = StageKind.FLASH
    result: FlashResult | None = None

    def __init__(
        self,
        runner: RunnerStage,
        options: FlashOptions,
        processes: Processes,
        folder: Path,
        *,
        only_if_needed: bool = False,
    ) -> None:
        self.name = runner.name
        self.subject = runner.subject
        self.after = (runner,)
        done = "in place" if only_if_needed else "flashed"
        self.verb = "rehearsed" if options.dry_run else done  # type: ignore[misc]
        self._runner = runner
        self._options = options
        self._processes = processes
        self._folder = folder
        self._only_if_needed = only_if_needed
        self._is_there = False

    @property
    def _selection(self) -> Selection:
        return Selection(self._options.volume, self._options.probe)

    @property
    def _flashing(self) -> Flashing:
        board = self._runner.board
        if (flash := flashing(board)) is None:
            raise NotFlashed(board=board.name)
        return flash

    @cached_property
    def method(self) -> FlashMethod:
        """
        Raises:
            NotFlashed: the board has no flash method.
            UnknownName, NoMethod, UsageError: see Flashing.choose.
        """
        flashing, options = self._flashing, self._options
        name = options.flash_method
        if name is None and options.dry_run:
            return flashing.possible(self._selection) or next(iter(flashing.methods.values()))
        return flashing.choose(self._runner.board.name, name, self._selection)

    def check(self) -> None:
        """
        Raises:
            NotFlashed, UnknownName, NoMethod: see `method`.
            Missing, UsageError: see FlashMethod.find.
            CannotOpen: the request's port.
            SeveralPorts: it names none, and several boards may be connected.
        """
        uart, port = self._runner.board.uart, self._options.port
        if uart is not None and not self._options.dry_run:
            if port is not None:
                SerialPort(port, uart.baud).close()
            else:
                with suppress(NoPort):  # the flash will not be confirmed
                    find_port(uart.usb)
        if self._only_if_needed:
            self._flashing  # noqa: B018
        elif self._options.dry_run:
            self.method  # noqa: B018
        else:
            self.method.find(self._selection)

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / "flash")

    def summary(self) -> str:
        if self._is_there:
            return f"{self.subject} already"
        return f"{self.subject}, by {self.method.name}"

    def make(self, folder: Path) -> None:
        if self._only_if_needed and self._greets():
            self._is_there = True
            return
        runner = self._runner
        log = self._folder / "logs" / "flash.txt"
        timeout = self._options.timeout or self.method.limit
        job = FlashJob(runner.board, runner.image, self._selection, log, timeout)
        actions = (*self.method.describe(job), *self._listening())
        place = confirmed = doubt = None
        if not self._options.dry_run:
            place = self.method.flash(job, self._processes)
            confirmed, doubt = self._confirm()
        result = FlashResult(
            model=runner.plan.source.name,
            board=runner.board.name,
            method=self.method.name,
            actions=actions,
            place=place,
            confirmed=confirmed,
            doubt=doubt,
            identity=runner.plan.record.identity,
            artifacts=runner.artifacts,
        )
        if not self._only_if_needed:
            self.result = result

    def _listening(self) -> Iterator[str]:
        """How a flash is confirmed, one line each."""
        if self._runner.board.uart is None:
            return
        action = f"wait up to {GREETING_SECONDS:g} s for the image's greeting"
        try:
            yield f"{action} at {hardware(self._runner.board, self._options.port).port}"
        except (NoPort, SeveralPorts) as error:
            yield action
            yield f"but {error.message}: {error.hint}"

    def _greets(self) -> bool:
        """Whether the board runs exactly this image."""
        try:
            self._hear(_LOOK_SECONDS)
        except (OtherImage, NoGreeting, PortLost):
            return False
        return True

    def _confirm(self) -> tuple[str | None, str | None]:
        """The port at which the image greets; or why there is none, if the request names none.

        Raises:
            OtherImage: the board still runs another image.
            CmbuildError: it does not respond on the request's port.
        """
        if self._runner.board.uart is None:
            return None, "the board's runner has no serial line"
        try:
            return self._hear(), None
        except (NoPort, SeveralPorts, CannotOpen, PortLost, NoGreeting) as error:
            if self._options.port is not None:
                raise
            return None, error.message

    def _hear(self, seconds: float = GREETING_SECONDS) -> str:
        line = hardware(self._runner.board, self._options.port)
        log = self._folder / "logs" / "greeting.txt"
        return line.hear(self._runner.image, log, self._processes, seconds)
