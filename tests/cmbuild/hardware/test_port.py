"""Serial lines behind TCP connections."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace

import pytest
from serial import serial_for_url
from serial.rfc2217 import PortManager

from cmbuild.hardware.port import CannotOpen, PortLost, TcpPort, open_port


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def url(listener: socket.socket) -> str:
    return f"socket://127.0.0.1:{listener.getsockname()[1]}"


def test_bytes_go_both_ways(listener: socket.socket) -> None:
    with open_port(url(listener), 921600) as port:
        assert isinstance(port, TcpPort)
        far, _ = listener.accept()
        with far:
            assert port.read() == b""
            port.write(b"there")
            assert far.recv(100) == b"there"
            far.sendall(b"back")
            assert port.read() == b"back"


def test_a_line_that_is_closed_is_lost(listener: socket.socket) -> None:
    with open_port(url(listener), 921600) as port:
        listener.accept()[0].close()
        with pytest.raises(PortLost, match="closed the connection"):
            port.read()


@contextmanager
def rfc2217(listener: socket.socket) -> Iterator[str]:
    """A serial line that echoes, as ser2net offers it: telnet with RFC 2217. Yields its URL."""
    stop = threading.Event()

    def carry() -> None:
        line = serial_for_url("loop://", timeout=0)
        listener.settimeout(10)
        far, _ = listener.accept()
        far.settimeout(0.01)
        manager = PortManager(line, SimpleNamespace(write=far.sendall))
        with far, line:
            while not stop.is_set():
                with suppress(TimeoutError):
                    line.write(b"".join(manager.filter(far.recv(4096))))
                if data := line.read(4096):
                    far.sendall(b"".join(manager.escape(data)))

    thread = threading.Thread(target=carry)
    thread.start()
    try:
        yield f"{url(listener).replace('socket', 'rfc2217')}?ign_set_control"
    finally:
        stop.set()
        thread.join()


@pytest.mark.filterwarnings("ignore:set(Daemon|Name):DeprecationWarning")  # pyserial's
def test_every_byte_passes_rfc2217(listener: socket.socket) -> None:
    all_bytes, received = bytes(range(256)), b""
    with rfc2217(listener) as name, open_port(name, 921600) as port:
        port.write(all_bytes)
        deadline = time.monotonic() + 120
        while len(received) < len(all_bytes) and time.monotonic() < deadline:
            received += port.read()
    assert received == all_bytes


@pytest.mark.parametrize("name", ["socket://127.0.0.1:1", "socket://127.0.0.1:x", "socket://"])
def test_a_line_that_is_not_there(name: str) -> None:
    with pytest.raises(CannotOpen):
        open_port(name, 921600)
