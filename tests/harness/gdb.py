"""A minimal gdb remote protocol client, enough to stop at a function."""

from __future__ import annotations

import socket
import time


class Remote:
    """A connection to a gdb server on this machine, which may still be starting."""

    def __init__(self, port: int, patience: float = 120.0) -> None:
        deadline = time.monotonic() + patience
        while True:
            try:
                self._socket = socket.create_connection(("127.0.0.1", port))
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                break
        self._socket.settimeout(patience)

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, packet: str) -> str:
        """Sends a packet; returns the reply."""
        self.tell(packet)
        data = b""
        while b"#" not in data[:-2]:
            data += self._more()
        self._socket.sendall(b"+")
        return data[data.index(b"$") + 1 : data.rindex(b"#")].decode()

    def tell(self, packet: str) -> None:
        """Sends a packet without a reply."""
        checksum = sum(packet.encode()) % 256
        self._socket.sendall(f"${packet}#{checksum:02x}".encode())

    @property
    def pc(self) -> int:
        """The program counter: register 15, 32 bits."""
        return int.from_bytes(bytes.fromhex(self.ask("g"))[60:64], "little")

    def run_to(self, address: int) -> str:
        """Continues until just before an address executes; returns the stop reason."""
        assert self.ask(f"Z0,{address:x},2") == "OK"
        return self.ask("c")

    def kill(self) -> None:
        self.tell("k")

    def _more(self) -> bytes:
        data = self._socket.recv(4096)
        if not data:
            raise ConnectionError("the server has hung up")
        return data


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
