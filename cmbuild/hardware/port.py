"""Serial ports of this computer."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cmbuild.errors import Failed, Missing, UsageError

if TYPE_CHECKING:
    from serial import Serial

_PERIOD = 0.05  # seconds that a read waits at most; a time limit or Ctrl-C is noticed after it
_WRITE_SECONDS = 5.0
_CONNECT_SECONDS = 10.0
_CHUNK = 64 * 1024
_TCP = "socket://"
_REMOTE_HINT = "the computer that the board is connected to may not offer its serial line"


class NoPort(Missing):
    template = "no serial port found"
    hint = "plug in the board's USB-to-serial adapter or debug probe; --port PORT names any other"


class SeveralPorts(UsageError):
    template = "several serial ports found: {ports}"
    hint = "--port PORT selects one"


class CannotOpen(Missing):
    template = "cannot open {port}: {reason}"
    hint = "`ls -l {port}` shows its permissions; another program may have it open"


class PortLost(Failed):
    template = "{port} was lost: {reason}"
    hint = "plug the board in again and repeat"


def find_port(usb: Sequence[str] = ()) -> str:
    """The only port that a board can be connected to.

    Args:
        usb: vendor and product of preferred adapters: `2e8a:000c`.

    Raises:
        NoPort, SeveralPorts.
    """
    from serial.tools.list_ports import comports

    ports = {p.device: f"{p.vid:04x}:{p.pid:04x}" for p in comports() if p.vid is not None}
    preferred = [device for device, identity in ports.items() if identity in usb]
    candidates = sorted(preferred or ports)
    if not candidates:
        raise NoPort()
    if len(candidates) > 1:
        raise SeveralPorts(ports=", ".join(candidates))
    return str(candidates[0])


def open_port(name: str, baud: int) -> SerialPort | TcpPort:
    """Raises CannotOpen."""
    return TcpPort(name, baud) if name.startswith(_TCP) else SerialPort(name, baud)


class SerialPort:
    """An open port. No call blocks for long.

    Attributes:
        name: `/dev/ttyACM0`, `COM3`.
    """

    def __init__(self, name: str, baud: int) -> None:
        """Raises CannotOpen."""
        from serial import SerialException, serial_for_url

        self.name = name
        self.baud = baud
        try:
            self._serial: Serial = serial_for_url(name, baud, timeout=_PERIOD, **_options(name))
        except (SerialException, OSError, ValueError) as error:
            hint = {"hint": _REMOTE_HINT} if "://" in name else {}
            raise CannotOpen(port=name, reason=_reason(error), **hint) from error

    def __enter__(self) -> SerialPort:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._serial.close()

    def read(self) -> bytes:
        """The bytes received, perhaps none; raises PortLost."""
        with self._losing():
            first: bytes = self._serial.read(1)
            rest: bytes = self._serial.read(self._serial.in_waiting) if first else b""
            return first + rest

    def write(self, data: bytes) -> None:
        """Raises PortLost."""
        with self._losing():
            self._serial.write(data)

    @contextmanager
    def _losing(self) -> Iterator[None]:
        from serial import SerialException

        try:
            yield
        except (SerialException, OSError) as error:
            raise PortLost(port=self.name, reason=_reason(error)) from error


class TcpPort:
    """A serial line that another computer offers as a TCP connection: pyserial reads such a one
    byte by byte.

    Attributes:
        name: `socket://HOST:PORT`.
    """

    def __init__(self, name: str, baud: int) -> None:
        """Raises CannotOpen."""
        self.name = name
        self.baud = baud
        try:
            parts = urlsplit(name)
            place = (parts.hostname or "", parts.port or 0)
            self._socket = socket.create_connection(place, _CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise CannotOpen(port=name, reason=_reason(error), hint=_REMOTE_HINT) from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> TcpPort:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def read(self) -> bytes:
        """The bytes received, perhaps none; raises PortLost."""
        self._socket.settimeout(_PERIOD)
        try:
            data = self._socket.recv(_CHUNK)
        except TimeoutError:
            return b""
        except OSError as error:
            raise PortLost(port=self.name, reason=_reason(error)) from error
        if not data:
            raise PortLost(port=self.name, reason="the other end closed the connection")
        return data

    def write(self, data: bytes) -> None:
        """Raises PortLost."""
        self._socket.settimeout(_WRITE_SECONDS)
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise PortLost(port=self.name, reason=_reason(error)) from error


def _options(name: str) -> Mapping[str, object]:
    """Options of pyserial that only ports of this computer have."""
    return {} if "://" in name else {"write_timeout": _WRITE_SECONDS, "exclusive": True}


def _reason(error: Exception) -> str:
    """The system's reason, without pyserial's wrapping."""
    text = getattr(error, "strerror", None) or str(error)
    return text.rpartition("] ")[2].split(": '")[0].strip().lower()
