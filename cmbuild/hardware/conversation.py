"""A run on a board: the host answers the board's requests until the run ends."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from cmbuild.errors import Failed, Interrupted, TimedOut
from cmbuild.hardware import frames
from cmbuild.hardware.messages import Malformed, Message, MessageKind
from cmbuild.hardware.port import SerialPort, TcpPort
from cmbuild.hardware.streams import Streams
from cmbuild.image.console import records
from cmbuild.image.elf import loaded
from cmbuild.image.products import ERASED, flat

# A board greets four times a second until the host answers; one that is busy with a run whose host
# is gone restarts within ten seconds.
GREETING_SECONDS = 15.0

_NUDGE_SECONDS = 1.0
_ALIGNMENT = 16
_IDENTITY = 16  # minimum length


class NoGreeting(Failed):
    template = "no board responded on {port} within {seconds:g} s: {heard}"
    hint = "{advice}; the received bytes are in {log}"


class OtherImage(Failed):
    template = "the board at {port} runs another image: {found!r}, not {image}"
    hint = "`cmbuild flash` flashes the right one; the received bytes are in {log}"


class Restarted(Failed):
    template = "the board at {port} restarted in the middle of the run: {greeting!r}"
    hint = "its watchdog may have expired, or its supply be weak; the log is {log}"


def image_words(data: bytes) -> Iterator[tuple[str, ...]]:
    """Bytes and CRC-32 as in a record of the runner: of the data, and of the erased flash after it
    up to the next aligned address.
    """
    for size in range(len(data), len(data) + _ALIGNMENT):
        yield f"{size:x}", f"{zlib.crc32(data.ljust(size, ERASED)):x}"


class Conversation:
    """The host's side of one run, or of a greeting alone.

    Args:
        log: gets what the board prints, as text.
        path: of the log, for errors.
        is_ended: whether all work is to end.
    """

    def __init__(
        self, port: SerialPort | TcpPort, log: IO[str], path: Path, is_ended: Callable[[], bool]
    ) -> None:
        self._port = port
        self._log = log
        self._path = path
        self._is_ended = is_ended
        self._decoder = frames.Decoder()
        self._complaint: str | None = None

    def greeting(self, seconds: float = GREETING_SECONDS) -> Message:
        """Waits for the board to identify itself; the board then waits for the answer.

        Raises:
            NoGreeting: distinguishes silence, garbage, and other versions.
            PortLost, Interrupted.
        """
        deadline = time.monotonic() + seconds
        nudge = 0.0
        while time.monotonic() < deadline:
            for message in self._receive():
                if message.kind is MessageKind.GREETING:
                    return message
                if time.monotonic() >= nudge:  # it is in the middle of another host's run
                    self._send(Message(MessageKind.RESTART, message.number))
                    nudge = time.monotonic() + _NUDGE_SECONDS
        raise NoGreeting(
            port=self._port.name, seconds=seconds, log=self._path, **self._impression()
        )

    def check(self, greeting: Message, image: Path) -> None:
        """
        Args:
            image: contains the identity that it greets with, and the data of its checksums.

        Raises:
            OtherImage: the board runs another one.
        """
        said = {record.kind: record.words for record in records(greeting.text.splitlines())}
        identity = (said.get("runner") or ("",))[-1]
        is_this = len(identity) >= _IDENTITY and identity.encode() in image.read_bytes()
        if is_this and "image" in said:
            is_this = said["image"] in image_words(flat(loaded(image)))
        if not is_this:
            running = " ".join(greeting.text.split())
            raise OtherImage(port=self._port.name, found=running, image=image, log=self._path)

    def serve(self, greeting: Message, streams: Streams, timeout: float) -> int:
        """Answers a greeting and all further requests of the board until the run ends.

        Returns: the image's exit status.

        Raises:
            Restarted: it greets again.
            TimedOut, PortLost, Interrupted.
        """
        deadline = time.monotonic() + timeout
        self._print(greeting.text)
        answer = Message(MessageKind.DONE, greeting.number)
        self._send(answer)
        is_under_way = False
        while time.monotonic() < deadline:
            for message in self._receive():
                if message.kind is MessageKind.GREETING:
                    if is_under_way:
                        raise Restarted(
                            port=self._port.name, greeting=message.text.strip(), log=self._path
                        )
                    self._send(answer)  # it missed the first
                    continue
                is_under_way = True
                try:
                    if message.number != answer.number:  # otherwise the answer was lost
                        answer = self._answer(message, streams)
                    self._send(answer)
                    if message.kind is MessageKind.END:
                        return message.status
                except Malformed as error:
                    self._note(str(error))
        raise TimedOut(name=f"the board at {self._port.name}", seconds=timeout, log=self._path)

    def _answer(self, message: Message, streams: Streams) -> Message:
        is_done = True
        if message.kind is MessageKind.READ:
            data = streams.read(*message.range)
            if data is not None:
                return Message(MessageKind.DATA, message.number, data)
            is_done = False
        elif message.kind is MessageKind.APPEND:
            is_done = streams.append(*message.addition)
        elif message.kind is MessageKind.PRINT:
            self._print(message.text)
        elif message.kind is MessageKind.END:
            self._note(f"status {message.status}")
        else:
            raise Malformed(f"the board sends an answer: {message.kind.name}")
        return Message(MessageKind.DONE if is_done else MessageKind.REFUSED, message.number)

    def _receive(self) -> list[Message]:
        """The messages just received."""
        if self._is_ended():
            raise Interrupted()
        messages = []
        broken = self._decoder.broken
        for data in self._decoder.feed(self._port.read()):
            try:
                messages.append(Message.unpack(data))
            except Malformed as error:
                self._complaint = str(error)
                self._note(self._complaint)
        if self._decoder.broken > broken:
            self._note("bytes, not a message")
        return messages

    def _send(self, message: Message) -> None:
        self._port.write(frames.encode(message.pack()))

    def _print(self, text: str) -> None:
        self._log.write(text if text.endswith("\n") else f"{text}\n")
        self._log.flush()

    def _note(self, text: str) -> None:
        """The host's line in the log."""
        self._print(f"-- {text}")

    def _impression(self) -> dict[str, str]:
        """Describes what was received instead of a greeting, and what to do about it."""
        if self._complaint is not None:
            return {"heard": self._complaint, "advice": "`cmbuild flash` flashes this version"}
        if self._decoder.bytes == 0:
            advice = "check its power and wiring (TX to RX), and that it is flashed"
            return {"heard": "silence", "advice": advice}
        return {
            "heard": f"{self._decoder.bytes} bytes, but no valid message",
            "advice": f"check the port; its baud rate must be {self._port.baud}",
        }
