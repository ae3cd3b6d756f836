"""The host's side of semihosting, on a piece of memory."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from cmbuild.launchers.semihosting import Semihosting

PARAMETERS, TEXT, DATA = 0, 64, 128
FAILED = 0xFFFFFFFF


class Memory:
    """Implements CoreMemory."""

    def __init__(self) -> None:
        self.bytes = bytearray(256)

    def read(self, address: int, size: int) -> bytes:
        return bytes(self.bytes[address : address + size])

    def write(self, address: int, data: bytes) -> None:
        self.bytes[address : address + len(data)] = data


class Host:
    """An image's view of the host."""

    def __init__(self, folder: Path) -> None:
        self.memory = Memory()
        self.shown: list[str] = []
        self.calls = Semihosting(self.memory, folder, self.shown.append)

    def call(self, operation: int, *parameters: int) -> int:
        self.memory.write(PARAMETERS, struct.pack(f"<{len(parameters)}I", *parameters))
        return self.calls.call(operation, PARAMETERS)

    def open(self, name: str, mode: int) -> int:
        self.memory.write(TEXT, name.encode())
        return self.call(1, TEXT, mode, len(name.encode()))


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (tmp_path / "input0").write_bytes(b"abcdef")
    return Host(tmp_path)


def test_files_are_read_and_appended_to(host: Host, tmp_path: Path) -> None:
    file = host.open("input0", 1)
    assert (host.call(10, file, 2), host.call(6, file, DATA, 3)) == (0, 0)
    assert host.memory.read(DATA, 3) == b"cde"
    assert host.call(6, file, DATA, 9) == 8  # bytes that were not there
    assert (host.call(12, file), host.call(2, file)) == (6, 0)
    out = host.open("output0", 9)
    assert host.call(5, out, DATA + 1, 2) == 0
    assert host.call(2, out) == 0
    assert (tmp_path / "output0").read_bytes() == host.memory.read(DATA + 1, 2)


def test_only_files_of_the_folder_are_opened(host: Host) -> None:
    assert all(host.open(name, 1) == FAILED for name in ("../x", "/etc/passwd", "", "none", "."))
    assert host.open("input0", 5) == FAILED  # neither to read nor to append
    assert host.call(6, 77, DATA, 1) == FAILED


def test_text_and_status(host: Host) -> None:
    host.memory.write(TEXT, b"a line\n\0rest")
    host.calls.call(4, TEXT)
    assert (host.shown, host.calls.status) == (["a line\n"], None)
    host.call(0x20, 0x20026, 3)
    assert host.calls.status == 3
