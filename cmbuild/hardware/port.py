"""Serial ports of this computer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cmbuild.errors import Failed, Missing, UsageError

if TYPE_CHECKING:
    from serial import Serial

_PERIOD = 0.05  # seconds that a read waits at most; a time limit or Ctrl-C is noticed after it
_WRITE_SECONDS = 5.0


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
    found = sorted(preferred or ports)
    if not found:
        raise NoPort()
    if len(found) > 1:
        raise SeveralPorts(ports=", ".join(found))
    return str(found[0])


class SerialPort:
    """An open port. No call blocks for long.

    Attributes:
        name: `/dev/ttyACM0`, `COM3`.
    """

    def __init__(self, name: str, baud: int) -> None:
        """Raises CannotOpen."""
        from serial import Serial, SerialException

        self.name = name
        self.baud = baud
        try:
            self._serial: Serial = Serial(
                name, baud, timeout=_PERIOD, write_timeout=_WRITE_SECONDS, exclusive=True
            )
        except (SerialException, OSError, ValueError) as error:
            raise CannotOpen(port=name, reason=_reason(error)) from error

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


def _reason(error: Exception) -> str:
    """The system's reason, without pyserial's wrapping."""
    text = getattr(error, "strerror", None) or str(error)
    return text.rpartition("] ")[2].split(": '")[0].strip().lower()
