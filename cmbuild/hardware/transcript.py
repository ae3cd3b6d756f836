"""Serial output for people: messages decoded, plain text as it is."""

from __future__ import annotations

from collections.abc import Iterator

from cmbuild.hardware import frames
from cmbuild.hardware.messages import Malformed, Message, MessageKind, printable

_LONGEST = 1 << 16
"""Unterminated bytes beyond this are shown as they are; no frame is longer."""


class Transcript:
    """Distinguishes frames from text by the zero bytes around them."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._is_frame = False
        self._last: Message | None = None

    def feed(self, data: bytes) -> Iterator[str]:
        """Lines that these bytes complete."""
        for byte in data:
            if byte == 0:
                yield from self._end()
            else:
                self._pending.append(byte)
                is_line = byte == ord("\n") and not self._is_frame
                if is_line or len(self._pending) >= _LONGEST:
                    yield from self._text()

    def _end(self) -> Iterator[str]:
        """At a zero byte: the end of a frame, or the one before it."""
        frame = bytes(self._pending)
        message = next(iter(frames.Decoder().feed(frame + b"\0")), None)
        if message is not None:
            self._pending.clear()
            self._is_frame = False
            yield from self._message(message)
            return
        yield from self._text()
        self._is_frame = True

    def _text(self) -> Iterator[str]:
        text = printable(bytes(self._pending).rstrip(b"\r\n"))
        self._pending.clear()
        if text:
            yield text

    def _message(self, data: bytes) -> Iterator[str]:
        try:
            message = Message.unpack(data)
            if message != self._last:  # repeated, because nobody answers
                yield _line(message)
            self._last = message
        except Malformed as error:
            yield f"-- {error}"


def _line(message: Message) -> str:
    if message.kind is MessageKind.PRINT:
        return message.text.rstrip("\n")
    if message.kind is MessageKind.GREETING:
        return f"-- greeting: {message.text.strip()}"
    if message.kind is MessageKind.READ:
        name, offset, size = message.range
        return f"-- asks for {size} bytes of {name} from {offset} on"
    if message.kind is MessageKind.APPEND:
        name, data = message.addition
        return f"-- adds {len(data)} bytes to {name}"
    if message.kind is MessageKind.END:
        return f"-- end: status {message.status}"
    return f"-- {message.kind.name.lower()}"
