#!/usr/bin/env python3
"""A stand-in for a debug probe's program: a gdb server in front of QEMU's own.

QEMU lacks what such programs add, and this does: flash that is erased and written by packets, a
reset, and a core that stops at BKPT. A variable chooses what is wrong.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time

FAULT = os.environ.get("PROBE_FAULT", "")
FLASH, SIZE, BLOCK = 0x08000000, 1 << 20, 0x4000
MAP = (
    '<?xml version="1.0"?><!DOCTYPE memory-map PUBLIC "x" "y"><memory-map>'
    f'<memory type="flash" start="{FLASH:#x}" length="{SIZE:#x}">'
    f'<property name="blocksize">{BLOCK:#x}</property></memory>'
    '<memory type="ram" start="0x20000000" length="0x20000"/></memory-map>'
)
SUPPORTED = b"PacketSize=800;qXfer:memory-map:read+;qXfer:features:read+;QStartNoAckMode+"
MESSAGES = {
    "no probe": "No available debug probes are connected",
    "wrong chip": "C Error: connected to IDCODE 0x2ba01477, which is no STM32F4",
    "locked": "C Error: AP#0 is locked; the chip must be erased first",
}


class Link:
    """Packets over a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.buffer = b""

    def receive(self) -> bytes:
        while True:
            match = re.search(rb"\$([^#]*)#..|\x03", self.buffer, re.DOTALL)
            if match:
                self.buffer = self.buffer[match.end() :]
                return b"\x03" if match[1] is None else match[1]
            data = self.connection.recv(1 << 16)
            if not data:
                sys.exit(0)
            self.buffer += data

    def send(self, data: bytes) -> None:
        packet = b"$%s#%02x" % (data, sum(data) & 0xFF)
        self.connection.sendall(data if data == b"\x03" else packet)

    def ask(self, data: bytes) -> bytes:
        self.send(data)
        while (answer := self.receive()).startswith(b"O") and answer != b"OK":
            pass  # QEMU's console
        return answer


def connect(port: int) -> socket.socket:
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.05)
    raise SystemExit("QEMU did not start")


def plain(data: bytes) -> bytes:
    """Binary data without escapes."""
    return re.sub(rb"}(.)", lambda match: bytes([match[1][0] ^ 0x20]), data, flags=re.DOTALL)


class Probe:
    """What the program knows of the board."""

    def __init__(self, core: Link) -> None:
        self.core = core
        self.breakpoints: set[int] = set()
        self.times = 0

    def answer(self, packet: bytes) -> bytes:
        own = {
            b"qSupported": lambda rest: SUPPORTED,
            b"QStartNoAckMode": lambda rest: b"OK",
            b"qXfer:memory-map:read::": self.described,
            b"qRcmd,": lambda rest: self.core.ask(b"qRcmd," + b"system_reset".hex().encode()),
            b"vFlashErase:": self.erased,
            b"vFlashWrite:": lambda rest: self.written(*rest.split(b":", 1)),
            b"vFlashDone": lambda rest: b"OK",
            b"c": self.resumed,
        }
        for start, does in own.items():
            if packet.startswith(start):
                return does(packet[len(start) :])
        return self.core.ask(packet)

    def described(self, rest: bytes) -> bytes:
        start, size = (int(text, 16) for text in rest.split(b","))
        part = MAP[start : start + size].encode()
        return (b"m" if start + size < len(MAP) else b"l") + part

    def erased(self, rest: bytes) -> bytes:
        start, size = (int(text, 16) for text in rest.split(b","))
        whole = start % BLOCK == 0 and size % BLOCK == 0
        return b"E01" if FAULT == "protected" or not whole else b"OK"

    def resumed(self, rest: bytes) -> bytes:
        self.times += 1
        if FAULT == "unplugged" and self.times == 5:
            sys.exit(1)
        return self.core.ask(b"c")

    def written(self, place: bytes, text: bytes) -> bytes:
        address, data = int(place, 16), plain(text)
        if FAULT == "worn":
            data = bytes([data[0] ^ 1]) + data[1:]
        for at in range(0, len(data), 512):
            part = data[at : at + 512]
            self.core.ask(b"M%x,%x:%s" % (address + at, len(part), part.hex().encode()))
        # QEMU raises an exception at BKPT, where a core with a debugger stops.
        for at in range(-address % 2, len(data) - 1, 2):
            if data[at : at + 2] == b"\xab\xbe" and address + at not in self.breakpoints:
                self.breakpoints.add(address + at)
                self.core.ask(b"Z0,%x,2" % (address + at))
        return b"OK"


def main(port: int) -> None:
    if FAULT in MESSAGES:
        print(MESSAGES[FAULT], file=sys.stderr)
        sys.exit(1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        inner = free.getsockname()[1]
    machine = ["qemu-system-arm", "-M", "netduinoplus2", "-display", "none", "-serial", "none"]
    qemu = subprocess.Popen([*machine, "-monitor", "none", "-S", "-gdb", f"tcp:127.0.0.1:{inner}"])
    try:
        core = Link(connect(inner))
        core.connection.sendall(b"+")
        core.ask(b"QStartNoAckMode")
        core.connection.sendall(b"+")
        with socket.create_server(("127.0.0.1", port)) as server:
            connection, _ = server.accept()
        link, probe = Link(connection), Probe(core)
        while True:
            link.send(probe.answer(link.receive()))
    finally:
        qemu.kill()


if __name__ == "__main__":
    main(int(re.search(r"gdb_port (\d+)|--port (\d+)", " ".join(sys.argv))[1]))
