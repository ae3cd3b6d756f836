"""A gdb server as cmbuild talks to it: its memory map, and servers that say nonsense."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress

import pytest

from cmbuild.errors import Interrupted
from cmbuild.hardware.probe.packets import packed, unpacked
from cmbuild.hardware.probe.server import CoreServer, ProbeRefused, ServerLost, free_port

MAP = (
    b'<memory-map><memory type="flash" start="0x1000" length="0x1000">'
    b'<property name="blocksize">0x400</property></memory></memory-map>'
)


@contextmanager
def server(answers: Mapping[bytes, bytes], asked: list[bytes]) -> Iterator[int]:
    """The port of a server with these answers by the beginning of a packet, otherwise OK."""
    port = free_port()
    listener = socket.create_server(("127.0.0.1", port))

    def serve() -> None:
        connection, _ = listener.accept()
        buffer = bytearray()
        with connection, suppress(ConnectionError):
            while data := connection.recv(4096):
                buffer += data
                while (packet := unpacked(buffer)) is not None:
                    asked.append(packet)
                    known = next(
                        (a for start, a in answers.items() if packet.startswith(start)), b"OK"
                    )
                    if known == b"hang up":
                        return
                    connection.sendall(b"+" + packed(known))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with listener:
        yield port


@contextmanager
def core(port: int, is_ended: Callable[[], bool] = lambda: False) -> Iterator[CoreServer]:
    with closing(CoreServer(port, "a board", "log", is_ended)) as connection:
        yield connection


ANSWERS = {
    b"qSupported": b"PacketSize=400;qXfer:memory-map:read+",
    b"qXfer:memory-map:read": b"l" + MAP,
}


def test_whole_blocks_are_erased_once_and_ram_is_written_as_memory() -> None:
    asked: list[bytes] = []
    with server(ANSWERS, asked) as port, core(port) as there:
        there.program([(0x1100, b"abc"), (0x1500, b"}"), (0x8000, b"ram")])
    assert asked[-5:] == [
        b"vFlashErase:1000,800",
        b"vFlashWrite:1100:abc",
        b"vFlashWrite:1500:}",
        b"M8000,3:72616d",
        b"vFlashDone",
    ]


@pytest.mark.parametrize(
    ("start", "answer", "error"),
    [
        (b"m", b"E01", ProbeRefused),
        (b"m", b"no hex", ProbeRefused),
        (b"m", b"", ProbeRefused),
        (b"m", b"hang up", ServerLost),
    ],
)
def test_answers_that_are_none(start: bytes, answer: bytes, error: type[Exception]) -> None:
    answers = {start: answer, **ANSWERS}
    with server(answers, []) as port, core(port) as there, pytest.raises(error):
        there.read(0x1000, 4)


def test_a_map_that_is_none_is_refused() -> None:
    answers = {b"qSupported": ANSWERS[b"qSupported"], b"qXfer": b"l<memory"}
    refused = pytest.raises(ProbeRefused, match="describe its memory")
    with server(answers, []) as port, core(port) as there, refused:
        there.program([(0x1000, b"abc")])


def test_registers_are_words_and_ctrl_c_ends_the_wait() -> None:
    words = b"".join(b"%02x000000" % number for number in range(17))
    ended: list[bool] = []
    answers = {**ANSWERS, b"g": words, b"c": b"O41"}
    with server(answers, []) as port, core(port, lambda: bool(ended)) as there:
        assert list(there.registers()) == list(range(16))
        ended.append(True)
        with pytest.raises(Interrupted):
            there.resume(60)
