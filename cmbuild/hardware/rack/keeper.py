"""A process that holds a place of labgrid for as long as its standard input is open.

labgrid's coordinator keeps a place acquired when its client is gone. This process notices when the
command that started it ends, even by SIGKILL, and then releases the place.

`python -m cmbuild.hardware.rack.keeper ADDRESS [check]` prints a report of
cmbuild.hardware.rack.messages a line. A line on standard input asks for another place, because the
board of the last one does not work; that one stays held, so that nobody is given it meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import sys
import time
from typing import Any, NoReturn

from cmbuild.hardware.rack.address import RackAddress
from cmbuild.hardware.rack.messages import (
    Found,
    HeldPlace,
    LeftOut,
    Queued,
    Report,
    Trouble,
    TroubleKind,
    pack,
)

COORDINATOR, DEFAULT_COORDINATOR = "LG_COORDINATOR", "127.0.0.1:20408"

_CONNECT_SECONDS = 20.0
_EXPORT_SECONDS = 20.0  # exporters start a process for each serial line as it is acquired
_PERIOD = 1.0  # seconds between questions whether a place is free
_SERIAL = "NetworkSerialPort"


class Troubled(Exception):
    """No place is held; its argument is the report."""


class Ended(Exception):
    """Nobody needs the place any more."""


class Keeper:
    """
    Args:
        answers: descriptor that gets the reports.
    """

    def __init__(self, address: RackAddress, answers: int) -> None:
        self._address = address
        self._answers = answers
        self._coordinator = os.environ.get(COORDINATOR, DEFAULT_COORDINATOR)
        self._held: list[str] = []
        self._refused: set[str] = set()
        self._token: str | None = None
        self._loop: Any = None
        self._session: Any = None

    def work(self, *, only_check: bool) -> None:
        """All that it does.

        Raises:
            Troubled.
            Ended: nobody needs a place any more.
        """
        import grpc

        self.connect()
        try:
            if only_check:
                self.check()
                return
            try:
                self.hold()
                self.serve()
            finally:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                self.release()
        except grpc.aio.AioRpcError as error:
            self._fail(TroubleKind.UNREACHABLE, detail=error.details() or "")

    def connect(self) -> None:
        """Raises Troubled."""
        from labgrid.remote.client import ClientSession, Error, ensure_event_loop
        from labgrid.util.proxy import proxymanager

        self._loop = ensure_event_loop()
        try:
            address = proxymanager.get_grpc_address(self._coordinator, default_port=20408)
            self._session = ClientSession(address, self._loop)
            self._wait(asyncio.wait_for(self._session.start(), _CONNECT_SECONDS))
        except (Error, OSError, asyncio.TimeoutError) as error:
            self._fail(TroubleKind.UNREACHABLE, detail=str(error))

    def check(self) -> None:
        """Reports the places that can be held, sooner or later; raises Troubled."""
        names = self._candidates()
        if self._address.place is not None:
            self._line(self._place(names[0]))
            self._check_free(self._place(names[0]))
        self._tell(Found(names))

    def hold(self) -> None:
        """Holds a place, and reports it.

        Raises:
            Troubled.
            Ended: while it waited for one.
        """
        while True:
            self._wait(self._session.sync_with_coordinator())
            names = [
                n for n in self._candidates() if n not in self._held and n not in self._refused
            ]
            if not names:
                self._fail(TroubleKind.NONE_LEFT)
            if self._address.place is not None:
                name = names[0]
                self._check_free(self._place(name))
                self._acquire(name)
            else:
                chosen = self._queue(names)
                if chosen is None:
                    continue
                name = chosen
            self._held.append(name)
            try:
                self._tell(self._report(name))
            except Troubled as trouble:
                (report,) = trouble.args
                if self._address.place is not None:
                    raise
                self._tell(LeftOut(name, report.detail))
            else:
                return

    def serve(self) -> None:
        """Holds the place, and others when asked, until nobody needs it any more."""
        while True:
            if self._is_asked(None):
                self.hold()

    def release(self) -> None:
        """Releases whatever is held."""
        import grpc
        from labgrid.remote.generated import labgrid_coordinator_pb2 as api

        held, self._held = self._held, []
        # Not what somebody else holds by now, after they released ours.
        user = f"{self._session.gethostname()}/{self._session.getuser()}"
        for name in held:
            request = api.ReleasePlaceRequest(placename=name, fromuser=user)
            try:
                self._wait(self._session.stub.ReleasePlace(request))
            except grpc.aio.AioRpcError as error:
                print(f"{name} is not released: {error.details()}", file=sys.stderr)
        self._cancel()

    def _candidates(self) -> list[str]:
        """Names of the places that the address allows and that have a serial line."""
        places = self._session.places
        if self._address.place is not None:
            named = [
                name
                for name, place in places.items()
                if self._address.place == name or self._address.place in place.aliases
            ]
            if not named:
                self._fail(TroubleKind.UNKNOWN, self._address.place, known=sorted(places))
            names = named[:1]
        else:
            names = [n for n, place in places.items() if self._address.fits(n, place.tags)]
            if not names:
                known = {f"{k}={v}" for place in places.values() for k, v in place.tags.items()}
                self._fail(TroubleKind.UNTAGGED, self._address.title, known=sorted(known))
        able = [name for name in sorted(names) if self._lines(self._place(name))]
        if not able:
            self._fail(TroubleKind.NO_SERIAL, ", ".join(sorted(names)), f"no {_SERIAL}")
        return able

    def _place(self, name: str) -> Any:
        return self._session.places[name]

    def _lines(self, place: Any) -> dict[str, Any]:
        """Its serial lines, by the name that the place gives them."""
        matched = {}
        for exporter, groups in self._session.resources.items():
            for group, resources in groups.items():
                for name, resource in resources.items():
                    if resource.data.get("cls") != _SERIAL:
                        continue
                    match = place.getmatch((exporter, group, resource.cls, name))
                    if match is not None:
                        matched[match.rename or name] = resource
        return matched

    def _line(self, place: Any) -> Any:
        """The serial line to use."""
        lines = self._lines(place)
        if wanted := place.tags.get("serial"):
            lines = {key: line for key, line in lines.items() if key == wanted}
        if not lines:
            problem = f"no {_SERIAL} named {wanted}" if wanted else f"no {_SERIAL}"
            self._fail(TroubleKind.NO_SERIAL, place.name, problem)
        if len(lines) > 1:
            self._fail(TroubleKind.SEVERAL_SERIAL, place.name, ", ".join(sorted(lines)))
        (line,) = lines.values()
        return line

    def _check_free(self, place: Any) -> None:
        if place.acquired and place.name not in self._held:
            self._fail(TroubleKind.HELD, place.name, place.acquired)

    def _acquire(self, name: str) -> None:
        import grpc
        from labgrid.remote.generated import labgrid_coordinator_pb2 as api

        try:
            self._wait(self._session.stub.AcquirePlace(api.AcquirePlaceRequest(placename=name)))
        except grpc.aio.AioRpcError as error:
            self._wait(self._session.sync_with_coordinator())
            self._check_free(self._place(name))
            self._fail(TroubleKind.REFUSED, name, error.details() or str(error.code()))

    def _queue(self, names: list[str]) -> str | None:
        """Waits in labgrid's queue until one of the places is free, and acquires it.

        Returns: its name; None if it could not be acquired.
        """
        from labgrid.remote.common import ReservationState

        is_told = False
        while True:
            if self._token is None:
                self._token = self._reserve()
            reservation = self._poll(self._token)
            if reservation is None or reservation.state in (
                ReservationState.expired,
                ReservationState.invalid,
            ):
                self._token = None
            elif reservation.state is not ReservationState.waiting:
                (name,) = reservation.allocations["main"]
                return self._allocated(str(name))
            if not is_told and self._token is not None:
                self._tell(Queued(names))
                is_told = True
            self._is_asked(_PERIOD)

    def _allocated(self, name: str) -> str | None:
        """Acquires a place that the queue gave; None if that failed."""
        try:
            self._acquire(name)
        except Troubled as trouble:
            (report,) = trouble.args
            if report.kind is TroubleKind.REFUSED and name not in self._refused:
                self._refused.add(name)
                self._tell(LeftOut(name, report.detail))
            self._is_asked(_PERIOD)  # or another command of the same user was quicker
            return None
        finally:
            self._cancel()
        return name

    def _reserve(self) -> str:
        from labgrid.remote.generated import labgrid_coordinator_pb2 as api

        wanted = api.Reservation.Filter(filter=dict(self._address.tags))
        request = api.CreateReservationRequest(filters={"main": wanted}, prio=0.0)
        made = self._wait(self._session.stub.CreateReservation(request))
        return str(made.reservation.token)

    def _poll(self, token: str) -> Any:
        """The reservation; None if there is none any more."""
        import grpc
        from labgrid.remote.common import Reservation
        from labgrid.remote.generated import labgrid_coordinator_pb2 as api

        request = api.PollReservationRequest(token=token)
        try:
            answer = self._wait(self._session.stub.PollReservation(request))
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.FAILED_PRECONDITION:
                return None
            raise
        return Reservation.from_pb2(answer.reservation)

    def _cancel(self) -> None:
        """Leaves the queue."""
        import grpc
        from labgrid.remote.generated import labgrid_coordinator_pb2 as api

        token, self._token = self._token, None
        if token is not None:
            request = api.CancelReservationRequest(token=token)
            try:
                self._wait(self._session.stub.CancelReservation(request))
            except grpc.aio.AioRpcError as error:  # it has expired
                print(f"reservation {token}: {error.details()}", file=sys.stderr)

    def _report(self, name: str) -> HeldPlace:
        """Raises Troubled: the place has no serial line that works, or several."""
        from labgrid.resource.serialport import NetworkSerialPort
        from labgrid.target import Target
        from labgrid.util.proxy import proxymanager

        place, deadline = self._place(name), time.monotonic() + _EXPORT_SECONDS
        while True:
            self._wait(self._session.sync_with_coordinator())
            line = self._line(place)
            if line.avail and line.args.get("port"):
                break
            if time.monotonic() > deadline:
                self._fail(TroubleKind.NO_SERIAL, name, f"its {_SERIAL} is not available")
            self._is_asked(0.1)
        resource = NetworkSerialPort(Target(name), None, **line.args)
        resource.extra = line.extra
        near, port = proxymanager.get_host_and_port(resource)
        url = f"socket://{near}:{port}"
        if resource.protocol == "rfc2217":
            url = f"rfc2217://{near}:{port}?ign_set_control"
        host = line.extra["proxy"] if line.extra.get("proxy_required") else line.args["host"]
        return HeldPlace(name, url, resource.speed, host, dict(place.tags))

    def _is_asked(self, seconds: float | None) -> bool:
        """Waits for a line on standard input; raises Ended once it is closed."""
        if not select.select([0], [], [], seconds)[0]:
            return False
        if not os.read(0, 4096):
            raise Ended()
        return True

    def _wait(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)

    def _tell(self, report: Report) -> None:
        try:
            os.write(self._answers, f"{pack(report)}\n".encode())
        except BrokenPipeError as error:
            raise Ended() from error

    def _fail(
        self, kind: TroubleKind, name: str = "", detail: str = "", known: list[str] | None = None
    ) -> NoReturn:
        raise Troubled(Trouble(kind, self._coordinator, name, detail, known or []))


def _end(*_: object) -> NoReturn:
    raise Ended()


def main(address: str, *words: str) -> int:
    # labgrid prints; reports have a descriptor of their own.
    answers = os.dup(1)
    os.dup2(2, 1)
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keeper = Keeper(RackAddress.parse(address), answers)
    try:
        keeper.work(only_check="check" in words)
    except Troubled as trouble:
        with contextlib.suppress(BrokenPipeError):
            os.write(answers, f"{pack(*trouble.args)}\n".encode())
    except Ended:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
