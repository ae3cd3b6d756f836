"""The serial protocol: requests of the board, answers of the host.

runtime/include/cmrt/serial_host.h describes them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

VERSION = 1

_HEADER = struct.Struct("<BBH")
_RANGE = struct.Struct("<IH")


class MessageKind(IntEnum):
    GREETING = 1
    READ = 2
    APPEND = 3
    PRINT = 4
    END = 5
    DONE = 0x81
    DATA = 0x82
    REFUSED = 0x83
    RESTART = 0x84


class Malformed(ValueError):
    """Bytes that are not a message of this version; the text says why."""


@dataclass(frozen=True, slots=True)
class Message:
    """
    Attributes:
        number: of the request, which its answer repeats.
    """

    kind: MessageKind
    number: int
    body: bytes = b""

    def pack(self) -> bytes:
        return _HEADER.pack(VERSION, self.kind, self.number) + self.body

    @classmethod
    def unpack(cls, data: bytes) -> Message:
        """Raises Malformed."""
        if len(data) < _HEADER.size:
            raise Malformed(f"{len(data)} bytes are too few")
        version, kind, number = _HEADER.unpack_from(data)
        if version != VERSION:
            raise Malformed(f"version {version} of the protocol, not {VERSION}")
        if kind not in iter(MessageKind):
            raise Malformed(f"no such kind: {kind}")
        return cls(MessageKind(kind), number, data[_HEADER.size :])

    @property
    def text(self) -> str:
        """The body of a GREETING or PRINT, without control characters."""
        return printable(self.body)

    @property
    def range(self) -> tuple[str, int, int]:
        """Stream, offset and number of bytes of a READ; raises Malformed."""
        if len(self.body) < _RANGE.size:
            raise Malformed("a READ without a range")
        offset, size = _RANGE.unpack_from(self.body)
        return _name(self.body[_RANGE.size :]), offset, size

    @property
    def addition(self) -> tuple[str, bytes]:
        """Stream and bytes of an APPEND; raises Malformed."""
        end = 1 + self.body[0] if self.body else 0
        if not 1 < end <= len(self.body):
            raise Malformed("an APPEND without a name")
        return _name(self.body[1:end]), self.body[end:]

    @property
    def status(self) -> int:
        """The status in an END; raises Malformed."""
        if len(self.body) != 1:
            raise Malformed("an END without a status")
        return self.body[0]


def printable(data: bytes) -> str:
    """As text, with `?` for other bytes."""
    text = data.decode(errors="replace")
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def _name(data: bytes) -> str:
    try:
        return data.decode("ascii")
    except UnicodeDecodeError as error:
        raise Malformed("a stream without a name") from error
