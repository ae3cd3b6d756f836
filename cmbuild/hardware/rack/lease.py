"""A place of labgrid, held by a process of its own until it is not needed any more."""

from __future__ import annotations

import importlib.util
import os
import select
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cmbuild.errors import CmbuildError, Failed, Interrupted, Missing, UnknownName, UsageError
from cmbuild.hardware.rack.address import RackAddress
from cmbuild.hardware.rack.messages import (
    Found,
    HeldPlace,
    LeftOut,
    Queued,
    Report,
    Trouble,
    TroubleKind,
    unpack,
)
from cmbuild.process import Attendant, Processes, python_module
from cmcompiler.installation import pip_command

EXTRA = "labgrid"

_KEEPER = "cmbuild.hardware.rack.keeper"
_CYCLE_SECONDS = 60.0
_PERIOD = 0.2  # seconds; Ctrl-C is noticed after it


class NoLabgrid(Missing):
    template = "the Python package labgrid is not installed; --on labgrid:… needs it"


class NoCoordinator(Failed):
    template = "no labgrid coordinator responds at {coordinator}"
    hint = "start one with `labgrid-coordinator`; LG_COORDINATOR=HOST:PORT names another"


class NoTag(UsageError):
    template = "the labgrid coordinator at {coordinator} does not have {name}"

    def __init__(self, *, coordinator: str, name: str, known: Sequence[str]) -> None:
        hint = (
            f"tags of its places: {', '.join(known)}"
            if known
            else "`labgrid-client set-tags` sets tags"
        )
        super().__init__(coordinator=coordinator, name=name, hint=hint)


class PlaceHeld(Failed):
    template = "place {name} is held by {holder}"
    hint = "--on labgrid:name={name} waits for it; `labgrid-client -p {name} release` ends a lease"


class NoSerialLine(UsageError):
    template = "place {name} has no serial line: {problem}"
    hint = (
        "`labgrid-client -v resources` lists what exporters offer; its exporter may not be running"
    )


class SeveralSerialLines(UsageError):
    template = "place {name} has several serial lines: {lines}"
    hint = "the place's tag serial=NAME selects one"


class NoneLeft(Failed):
    template = "no board is left of {title}"
    hint = "the lines above say what is wrong with them"


class NotAcquired(Failed):
    template = "place {name} cannot be acquired: {reason}"
    hint = "`labgrid-client -p {name} show` shows its resources; {log} has labgrid's messages"


class KeeperEnded(Failed):
    template = "the process that holds {title} ended: {detail}"
    hint = "its messages are in {log}"


class CannotCycle(Failed):
    template = "place {name} cannot be power-cycled: {reason}"
    hint = "the output is in {log}"


def check_rack(address: RackAddress, processes: Processes, log: Path) -> None:
    """Asks the coordinator whether there is such a place.

    Raises:
        NoLabgrid, NoCoordinator, UnknownName, NoTag, PlaceHeld, NoSerialLine.
    """
    with _keeper(address, processes, log, "check") as lease:
        lease.wait(Found)


@contextmanager
def held(
    address: RackAddress, processes: Processes, log: Path, note: Callable[[str], None]
) -> Iterator[Lease]:
    """A place, released at the end of the context, or as this process ends in any way.

    Args:
        log: gets the messages of labgrid.
        note: shows a line at once.

    Raises:
        NoLabgrid, NoCoordinator, UnknownName, NoTag, PlaceHeld, NoSerialLine, SeveralSerialLines,
        NoneLeft, NotAcquired, KeeperEnded, Interrupted.
    """
    with _keeper(address, processes, log) as lease:
        lease.note = note
        lease.take()
        yield lease


class Lease:
    """
    Attributes:
        place: the one that is held, to be used.
        note: shows a line at once.
    """

    place: HeldPlace
    note: Callable[[str], None] = staticmethod(lambda text: None)

    def __init__(
        self, address: RackAddress, keeper: Attendant, processes: Processes, log: Path
    ) -> None:
        self._address = address
        self._keeper = keeper
        self._processes = processes
        self._log = log
        self._pending = b""

    def take(self) -> None:
        """Waits for a place; see `held`."""
        self.place = self.wait(HeldPlace)

    def leave_out(self, reason: str) -> None:
        """Leaves this place's board out, and waits for another; raises as `held`."""
        self.note(f"{self.place.name} is left out: {reason}")
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(b"another\n")
        self._keeper.stdin.flush()
        self.take()

    def cycle(self) -> None:
        """Switches the board off and on.

        Raises:
            CannotCycle: the place has nothing that can, or it did not work.
        """
        name, log = self.place.name, self._log.with_name("power.txt")
        command = [*python_module("labgrid.remote.client"), "-p", name, "power", "cycle"]
        done = self._processes.run(command, log=log, timeout=_CYCLE_SECONDS, check=False)
        if done.status != 0:
            lines = [line for line in done.output.splitlines() if line.strip()]
            reason = lines[-1] if lines else done.outcome
            if "no compatible resource" in reason:
                reason = "no power port among its resources"
            raise CannotCycle(name=name, reason=reason, log=log)

    def wait(self, kind: type[Report]) -> Any:
        """The next report of this kind; raises as `held`."""
        while True:
            report = self._next()
            if isinstance(report, Queued):
                self.note(f"waiting for {self._address.title}: {', '.join(report.names)} in use")
            elif isinstance(report, LeftOut):
                self.note(f"{report.name} is left out: {report.reason}")
            elif isinstance(report, Trouble):
                raise self._error(report)
            elif isinstance(report, kind):
                return report

    def _next(self) -> Report:
        assert self._keeper.stdout is not None
        while b"\n" not in self._pending:
            if self._processes.is_ended:
                raise Interrupted()
            if select.select([self._keeper.stdout], [], [], _PERIOD)[0]:
                data = os.read(self._keeper.stdout.fileno(), 65536)
                if not data:
                    raise self._ended()
                self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return unpack(line.decode())

    def _ended(self) -> KeeperEnded:
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line]
        detail = lines[-1] if lines else "it printed nothing"
        return KeeperEnded(title=self._address.title, detail=detail, log=self._log)

    def _error(self, trouble: Trouble) -> CmbuildError:
        name, where, detail = trouble.name, trouble.coordinator, trouble.detail
        if trouble.kind is TroubleKind.UNKNOWN:
            return UnknownName(kind="labgrid place", name=name, known=trouble.known)
        errors: Mapping[TroubleKind, Callable[[], CmbuildError]] = {
            TroubleKind.UNREACHABLE: lambda: NoCoordinator(coordinator=where),
            TroubleKind.UNTAGGED: lambda: NoTag(coordinator=where, name=name, known=trouble.known),
            TroubleKind.HELD: lambda: PlaceHeld(name=name, holder=detail),
            TroubleKind.NO_SERIAL: lambda: NoSerialLine(name=name, problem=detail),
            TroubleKind.SEVERAL_SERIAL: lambda: SeveralSerialLines(name=name, lines=detail),
            TroubleKind.NONE_LEFT: lambda: NoneLeft(title=self._address.title),
            TroubleKind.REFUSED: lambda: NotAcquired(name=name, reason=detail, log=self._log),
        }
        return errors[trouble.kind]()


@contextmanager
def _keeper(address: RackAddress, processes: Processes, log: Path, *words: str) -> Iterator[Lease]:
    if importlib.util.find_spec("labgrid") is None:
        raise NoLabgrid(hint=pip_command(EXTRA))
    command = [*python_module(_KEEPER), str(address), *words]
    with processes.attendant(command, log=log) as process:
        yield Lease(address, process, processes, log)
