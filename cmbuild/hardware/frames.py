"""Messages in a stream of bytes: each with its CRC-32, COBS-encoded, ended by a zero byte.

Cheshire and Baker, "Consistent Overhead Byte Stuffing", 1999; runtime/include/cmrt/frame.h is the
other side.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from cobs import cobs

LONGEST = 1088
"""Size of the longest message in bytes."""

_CHECKSUM = 4
_MOST = LONGEST + _CHECKSUM + (LONGEST + _CHECKSUM) // 254 + 1


def encode(message: bytes) -> bytes:
    """A message as sent; the zero in front ends a frame that noise may have begun."""
    if len(message) > LONGEST:
        raise ValueError(f"a message of {len(message)} bytes")
    checksum = zlib.crc32(message).to_bytes(_CHECKSUM, "little")
    stuffed: bytes = cobs.encode(message + checksum)
    return b"\0" + stuffed + b"\0"


class Decoder:
    """Finds messages among received bytes.

    Attributes:
        bytes: number received.
        broken: number of invalid frames.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self.broken = 0
        self._frame = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that these bytes complete."""
        self.bytes += len(data)
        *ends, rest = data.split(b"\0")
        for end in ends:
            frame = bytes(self._frame + end)
            self._frame.clear()
            message = _message(frame)
            if message is not None:
                yield message
            elif frame:
                self.broken += 1
        # Enough to see that it is too long.
        self._frame += rest[: _MOST + 1 - len(self._frame)]


def _message(frame: bytes) -> bytes | None:
    try:
        data: bytes = cobs.decode(frame) if len(frame) <= _MOST else b""
    except cobs.DecodeError:
        return None
    if len(data) < _CHECKSUM:
        return None
    message, checksum = data[:-_CHECKSUM], data[-_CHECKSUM:]
    is_whole = zlib.crc32(message).to_bytes(_CHECKSUM, "little") == checksum
    return message if is_whole else None
