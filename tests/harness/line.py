"""Pseudo-terminals as serial lines, good and faulty, between a host and a board."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import threading
import tty
from collections.abc import Callable, Iterator

from cmbuild.hardware import frames
from cmbuild.hardware.messages import Message, MessageKind

Fault = Callable[[bytes], bytes]
"""Changes bytes on the line."""


def intact(data: bytes) -> bytes:
    return data


class Terminal:
    """A raw pseudo-terminal.

    Attributes:
        board: descriptor of the board's end.
        port: name of the host's end.
    """

    def __init__(self) -> None:
        self.board, self._host = pty.openpty()
        tty.setraw(self.board)
        tty.setraw(self._host)
        self.port = os.ttyname(self._host)

    def close(self) -> None:
        for end in (self.board, self._host):
            with contextlib.suppress(OSError):
                os.close(end)
        self.board = self._host = -1


@contextlib.contextmanager
def joined(first: Terminal, second: Terminal, there: Fault, back: Fault) -> Iterator[None]:
    """Connects the board's ends of two terminals, with faults in both directions."""
    stop = threading.Event()

    def carry() -> None:
        ways = {first.board: (second.board, there), second.board: (first.board, back)}
        while not stop.is_set():
            for source in select.select(list(ways), [], [], 0.02)[0]:
                target, fault = ways[source]
                try:
                    data = os.read(source, 4096)
                    os.write(target, fault(data))
                except OSError:
                    return

    thread = threading.Thread(target=carry, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class Board:
    """A simulated board on its own thread that speaks cmbuild.line's protocol."""

    def __init__(self, script: Callable[[Board], None]) -> None:
        self._terminal = Terminal()
        self._gone = threading.Event()
        self.port = self._terminal.port
        self._decoder = frames.Decoder()
        self._received: list[Message] = []
        self.heard: list[Message] = []
        self._script = script
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Board:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(0.3)  # it may not have read the last answer yet
        self.unplug()
        self._thread.join()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            self._script(self)

    def unplug(self) -> None:
        self._gone.set()
        self._terminal.close()

    def write(self, data: bytes) -> None:
        os.write(self._terminal.board, data)

    def say(self, kind: MessageKind, number: int = 0, body: bytes = b"") -> None:
        self.write(frames.encode(Message(kind, number, body).pack()))

    def listen(self) -> Message:
        """The next message from the host; raises OSError once the board is unplugged."""
        while True:
            message = self._hear(0.02)
            # Answers a repeated greeting again.
            if message is not None and message not in self.heard[:1]:
                self.heard.append(message)
                return message

    def repeat(self, data: bytes) -> Message:
        """Sends data until the host, which may open its port late, answers; returns the answer."""
        while True:
            self.write(data)
            message = self._hear(0.05)
            if message is not None:
                self.heard.append(message)
                return message

    def pause(self, seconds: float) -> None:
        """Raises OSError once the board is unplugged."""
        if self._gone.wait(seconds):
            raise OSError

    def greet(self, identity: str) -> None:
        """Greets until the host answers."""
        assert self.repeat(greeting(identity)).kind is MessageKind.DONE

    def _hear(self, seconds: float) -> Message | None:
        if self._terminal.board < 0:
            raise OSError
        if not self._received and select.select([self._terminal.board], [], [], seconds)[0]:
            data = os.read(self._terminal.board, 4096)
            self._received += map(Message.unpack, self._decoder.feed(data))
        return self._received.pop(0) if self._received else None


def greeting(identity: str) -> bytes:
    text = f"cmrt runner 2 static {identity}\n"
    return frames.encode(Message(MessageKind.GREETING, 0, text.encode()).pack())
