"""A gdb server, as debug probes' programs have, and the core behind it."""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cmbuild.errors import Failed, Interrupted, TimedOut
from cmbuild.hardware.probe.packets import escaped, packed, unpacked

_POLL = 0.2
_ANSWER_SECONDS = 20.0
_ERASE_SECONDS = 120.0
_PACKET_BYTES = 1024
_OVERHEAD = 64  # bytes of a packet beside its data
_SP, _PC = 13, 15


class ServerLost(Failed):
    template = "{machine} closed the connection{when}"
    hint = "is the probe still plugged in, and the board powered? Its output is in {log}"


class ProbeRefused(Failed):
    template = "{machine} refused to {what}"
    hint = "a chip may be locked (readout protection), or of another kind; see {log}"


@dataclass(frozen=True, slots=True)
class FlashBlock:
    """Flash as the server describes it.

    Attributes:
        erases: bytes that are erased at once.
    """

    origin: int
    size: int
    erases: int

    def holds(self, address: int) -> bool:
        return self.origin <= address < self.origin + self.size


class CoreServer:
    """The connection to a gdb server; implements CoreMemory."""

    def __init__(self, port: int, machine: str, log: object, is_ended: Callable[[], bool]) -> None:
        """
        Args:
            port: of this machine, where the server listens.
            machine: what it controls, for people.
            log: where its output is, for people.
            is_ended: whether the user has ended this command.

        Raises:
            OSError: nothing listens there yet.
        """
        self._machine = machine
        self._log = log
        self._is_ended = is_ended
        self._buffer = bytearray()
        self._packet = _PACKET_BYTES
        self._has_map = False
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_POLL)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        """Asks what the server can do."""
        said = self.ask(b"qSupported:swbreak+;hwbreak+").decode(errors="replace")
        size = re.search(r"PacketSize=([0-9a-fA-F]+)", said)
        self._packet = max(256, int(size[1], 16) if size else _PACKET_BYTES) - _OVERHEAD
        self._has_map = "qXfer:memory-map:read+" in said
        if "QStartNoAckMode+" in said:
            self.ask(b"QStartNoAckMode")
        if "qXfer:features:read+" in said:
            # QEMU writes single registers only for those who have read what there are.
            self.ask(b"qXfer:features:read:target.xml:0,%x" % (self._packet // 2))
        self.ask(b"?")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def ask(self, data: bytes, seconds: float = _ANSWER_SECONDS) -> bytes:
        """The answer to a packet.

        Raises:
            ServerLost, TimedOut, Interrupted.
        """
        self._send(packed(data))
        return self._answer(seconds)

    def read(self, address: int, size: int) -> bytes:
        """Raises ProbeRefused, and as `ask`."""
        out = bytearray()
        while len(out) < size:
            count = min(size - len(out), self._packet // 2)
            place = address + len(out)
            answer = self.ask(b"m%x,%x" % (place, count))
            try:
                data = bytes.fromhex(answer.decode())
            except ValueError:
                data = b""
            if not data:
                raise self._refused(f"read memory at {place:#010x}")
            out += data[:count]
        return bytes(out)

    def write(self, address: int, data: bytes) -> None:
        """Writes RAM; raises ProbeRefused, and as `ask`."""
        for at in range(0, len(data), self._packet // 2):
            part = data[at : at + self._packet // 2]
            text = part.hex().encode()
            if self.ask(b"M%x,%x:%s" % (address + at, len(part), text)) != b"OK":
                raise self._refused(f"write memory at {address + at:#010x}")

    def program(self, segments: Sequence[tuple[int, bytes]]) -> None:
        """Writes an image, into flash where the server says that there is some.

        Raises:
            ProbeRefused, and as `ask`.
        """
        blocks = self._flash()
        places = [
            (next((b for b in blocks if b.holds(address)), None), address, data)
            for address, data in segments
        ]
        ranges = [_erased(block, address, data) for block, address, data in places if block]
        for start, size in _joined(ranges):
            if self.ask(b"vFlashErase:%x,%x" % (start, size), _ERASE_SECONDS) != b"OK":
                raise self._refused(f"erase flash at {start:#010x}")
        for block, address, data in places:
            if block is None:
                self.write(address, data)
                continue
            for at in range(0, len(data), self._packet // 2):
                part = escaped(data[at : at + self._packet // 2])
                packet = b"vFlashWrite:%x:%s" % (address + at, part)
                if self.ask(packet, _ERASE_SECONDS) != b"OK":
                    raise self._refused(f"write flash at {address + at:#010x}")
        if ranges and self.ask(b"vFlashDone", _ERASE_SECONDS) != b"OK":
            raise self._refused("finish writing flash")

    def reset(self, stack: int, entry: int) -> None:
        """Resets the core and halts it before its first instruction.

        Args:
            stack, entry: of the image's vectors, which a boot ROM may not have reached yet.
        """
        self.ask(b"qRcmd," + b"reset halt".hex().encode())
        self.set_register(_SP, stack)
        self.set_register(_PC, entry & ~1)

    def registers(self) -> Sequence[int]:
        """R0 to R15."""
        answer = self.ask(b"g").decode(errors="replace").replace("x", "0")
        try:
            data = bytes.fromhex(answer[: 16 * 8])
        except ValueError:
            data = b""
        if len(data) < 16 * 4:
            raise self._refused("read the core's registers")
        return [int.from_bytes(data[at : at + 4], "little") for at in range(0, 64, 4)]

    def set_register(self, number: int, value: int) -> None:
        text = (value & 0xFFFFFFFF).to_bytes(4, "little").hex().encode()
        if self.ask(b"P%x=%s" % (number, text)) != b"OK":
            raise self._refused("write the core's registers")

    def resume(self, seconds: float) -> None:
        """Lets the core run until it stops.

        Raises:
            TimedOut: it does not; it is halted. ServerLost, Interrupted.
        """
        self._send(packed(b"c"))
        try:
            self._answer(seconds)
        except TimedOut:
            self._send(b"\x03")
            raise

    def _answer(self, seconds: float) -> bytes:
        """The next packet that is not console output."""
        end = time.monotonic() + seconds
        while True:
            packet = unpacked(self._buffer)
            if packet is not None:
                self._send(b"+")
                if not packet.startswith(b"O") or packet == b"OK":
                    return packet
                continue
            if self._is_ended():
                raise Interrupted()
            if time.monotonic() > end:
                raise TimedOut(name=self._machine, seconds=seconds, log=self._log)
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                continue
            except OSError as error:
                raise self._lost(f": {error.strerror}") from error
            if not data:
                raise self._lost("")
            self._buffer += data

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._lost(f": {error.strerror}") from error

    def _flash(self) -> Sequence[FlashBlock]:
        """Blocks of flash of the server's memory map."""
        if not self._has_map:
            return ()
        text = bytearray()
        while True:
            answer = self.ask(b"qXfer:memory-map:read::%x,%x" % (len(text), self._packet // 2))
            text += answer[1:]
            if answer[:1] != b"m":
                break
        try:
            return list(_blocks(bytes(text)))
        except (SyntaxError, ValueError, TypeError) as error:  # the former of XML
            raise self._refused("describe its memory") from error

    def _refused(self, what: str) -> ProbeRefused:
        return ProbeRefused(machine=self._machine, what=what, log=self._log)

    def _lost(self, when: str) -> ServerLost:
        return ServerLost(machine=self._machine, when=when, log=self._log)


def free_port() -> int:
    """An unused port of this machine."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _blocks(text: bytes) -> Iterator[FlashBlock]:
    from xml.etree import ElementTree

    # A document type could make the parser fetch or expand; the map needs none.
    plain = re.sub(rb"<!DOCTYPE[^>]*>", b"", text)
    for memory in ElementTree.fromstring(plain).iter("memory"):
        if memory.get("type") != "flash":
            continue
        sizes = [each.text for each in memory.iter("property") if each.get("name") == "blocksize"]
        yield FlashBlock(
            int(memory.get("start", ""), 0),
            int(memory.get("length", ""), 0),
            max(1, int(sizes[0] or "", 0)) if sizes else 1,
        )


def _erased(block: FlashBlock, address: int, data: bytes) -> tuple[int, int]:
    """The whole blocks that data touches: first and last address, exclusive."""
    first = (address - block.origin) // block.erases
    last = -(-(address + len(data) - block.origin) // block.erases)
    return block.origin + first * block.erases, block.origin + last * block.erases


def _joined(ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Starts and sizes of ranges, of which those that touch are one."""
    runs: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if runs and start <= runs[-1][1]:
            runs[-1] = runs[-1][0], max(end, runs[-1][1])
        else:
            runs.append((start, end))
    return ((start, end - start) for start, end in runs)
