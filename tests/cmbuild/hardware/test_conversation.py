"""What may happen on the line to a board: each is one clear line, with the log kept."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.line import Board, greeting

from cmbuild.errors import ExitCode, Interrupted, TimedOut
from cmbuild.hardware import conversation, frames, port
from cmbuild.hardware.conversation import NoGreeting, OtherImage, Restarted
from cmbuild.hardware.messages import Message, MessageKind
from cmbuild.hardware.port import CannotOpen, NoPort, PortLost, SeveralPorts
from cmbuild.launchers.base import EndedEarly, Refused
from cmbuild.launchers.fault import Fault
from cmbuild.launchers.serial import SerialLine
from cmbuild.process import Processes

IDENTITY = "0123456789abcdef0123456789abcdef"
READ = struct.pack("<IH", 1, 2)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., object]:
    image = tmp_path / "image.elf"
    image.write_bytes(b"\x7fELF" + IDENTITY.encode())

    def run(script: Callable[[Board], None], timeout: float = 30.0) -> Board:
        with Board(script) as board:
            line = SerialLine(115200, port=board.port)
            log = tmp_path / "logs" / "log"
            board.run = line.run(
                Processes(), image, tmp_path, timeout=timeout, log=log, patience=1.0
            )
        return board

    return run


def end(board: Board, number: int, status: int = 0) -> None:
    board.say(MessageKind.PRINT, number, f"cmrt end {status:x}\n".encode())
    board.listen()
    board.say(MessageKind.END, number + 1, bytes([status]))
    board.listen()


def test_a_run(run, tmp_path):
    (tmp_path / "input0").write_bytes(b"abcdef")

    def script(board: Board) -> None:
        board.greet(IDENTITY)
        board.say(MessageKind.READ, 1, READ + b"input0")
        assert board.listen().body == b"bc"
        board.say(MessageKind.APPEND, 2, b"\7output0xyz")
        board.listen()
        end(board, 3)

    board = run(script)
    assert (tmp_path / "output0").read_bytes() == b"xyz"
    assert [m.kind for m in board.heard] == [MessageKind.DONE, MessageKind.DATA] + [
        MessageKind.DONE
    ] * 3
    assert [m.number for m in board.heard] == [0, 1, 2, 3, 4]


def test_what_is_said_twice_is_done_once(run, tmp_path):
    def script(board: Board) -> None:
        board.greet(IDENTITY)
        for _ in range(2):
            board.say(MessageKind.APPEND, 1, b"\7output0xyz")
            board.listen()
        end(board, 2)

    run(script)
    assert (tmp_path / "output0").read_bytes() == b"xyz"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (MessageKind.READ, READ + b"../secret"),
        (MessageKind.READ, READ + b"input1"),
        (MessageKind.READ, struct.pack("<IH", 5, 2) + b"input0"),
        (MessageKind.APPEND, b"\6input0x"),
        (MessageKind.APPEND, b"\x11../output0output0"),
        (MessageKind.READ, READ + b"logs"),
    ],
)
def test_a_board_gets_the_streams_and_nothing_else(run, tmp_path, kind, body):
    (tmp_path / "input0").write_bytes(b"abcdef")
    before = sorted(tmp_path.iterdir())

    def script(board: Board) -> None:
        board.greet(IDENTITY)
        board.say(kind, 1, body)
        assert board.listen().kind is MessageKind.REFUSED
        end(board, 2)

    board = run(script)
    assert board.heard[1].kind is MessageKind.REFUSED
    assert {path.name for path in tmp_path.iterdir()} - {path.name for path in before} <= {"logs"}


def unplug(board: Board) -> None:
    board.greet(IDENTITY)
    board.say(MessageKind.PRINT, 1, b"cmrt model 1\n")
    board.listen()
    board.unplug()


def garbage(board: Board) -> None:
    board.repeat(b"\xa5\x5a garbage, at another speed \0" * 20)


def old(board: Board) -> None:
    board.repeat(frames.encode(b"\2\1\0\0cmrt"))


def other(board: Board) -> None:
    board.repeat(greeting("fedcba9876543210"))


def restart(board: Board) -> None:
    board.greet(IDENTITY)
    board.say(MessageKind.PRINT, 1, b"cmrt model 1\n")
    board.listen()
    board.write(greeting("0123"))


def refuse(board: Board) -> None:
    board.greet(IDENTITY)
    board.say(MessageKind.PRINT, 1, b"cmrt error cannot read input\n")
    board.listen()
    end(board, 2, 1)


def stop_early(board: Board) -> None:
    board.greet(IDENTITY)
    board.say(MessageKind.END, 1, b"\0")
    board.listen()


@pytest.mark.parametrize(
    ("script", "error", "message"),
    [
        (unplug, PortLost, "was lost: "),
        (lambda board: None, NoGreeting, r"no board responded on .* within 1 s: silence"),
        (garbage, NoGreeting, "bytes, but no valid message"),
        (old, NoGreeting, "version 2 of the protocol, not 1"),
        (other, OtherImage, "runs another image: 'cmrt runner 2 static fedcba9876543210', not"),
        (restart, Restarted, "restarted in the middle of the run: 'cmrt runner 2 static 0123'"),
        (refuse, Refused, "cannot read input"),
        (stop_early, EndedEarly, "ended before the image ended"),
    ],
)
def test_a_run_that_ends_badly(run, tmp_path, script, error, message):
    with pytest.raises(error, match=message) as caught:
        run(script)
    assert caught.value.exit_code is ExitCode.FAILED
    assert caught.value.hint
    assert (tmp_path / "logs" / "log").exists()


def test_silence_in_the_middle_has_a_limit(run, tmp_path):
    with pytest.raises(TimedOut, match=r"the board at .* did not end within 1 s"):
        run(lambda board: board.greet(IDENTITY), timeout=1.0)
    assert "cmrt runner" in (tmp_path / "logs" / "log").read_text()


def test_a_run_of_somebody_else_is_told_to_start_anew(run):
    def script(board: Board) -> None:
        message = board.repeat(
            frames.encode(Message(MessageKind.READ, 77, READ + b"input0").pack())
        )
        assert (message.kind, message.number) == (MessageKind.RESTART, 77)
        board.greet(IDENTITY)
        end(board, 1)

    assert run(script).heard[0].kind is MessageKind.RESTART


def test_a_fault_has_a_name(run, tmp_path, monkeypatch):
    monkeypatch.setattr("cmbuild.image.elf.Symbols.read", lambda image: Symbols())

    class Symbols:
        def describe(self, address: int) -> str | None:
            return "cm_copy (copy.c:31)" if address == 0x10000100 else None

    def script(board: Board) -> None:
        board.greet(IDENTITY)
        for number, line in enumerate(("exception 3", "cfsr 8200", "bfar 10", "pc 10000100"), 1):
            board.say(MessageKind.PRINT, number, f"cmrt fault {line}\n".encode())
            board.listen()
        board.say(MessageKind.END, 5, bytes([98]))
        board.listen()

    with pytest.raises(Fault, match=r"HardFault: no memory there at 0x00000010, in cm_copy"):
        run(script)


def test_interrupted(tmp_path):
    processes = Processes()
    processes.terminate()
    with Board(lambda board: None) as board, pytest.raises(Interrupted):
        line = SerialLine(115200, port=board.port)
        line.run(processes, tmp_path / "image", tmp_path, timeout=9.0, log=tmp_path / "log")


def test_a_port_that_is_not_there(tmp_path):
    line = SerialLine(115200, port="/dev/ttyNONE")
    with pytest.raises(CannotOpen, match="cannot open /dev/ttyNONE: no such file") as error:
        line.run(Processes(), tmp_path, tmp_path, timeout=9.0, log=tmp_path / "log")
    assert error.value.exit_code is ExitCode.MISSING


class Found:
    def __init__(self, device: str, vid: int | None = None, pid: int | None = None) -> None:
        self.device, self.vid, self.pid = device, vid, pid


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        ([], NoPort),
        ([Found("/dev/ttyS0")], NoPort),
        ([Found("/dev/ttyS0"), Found("/dev/ttyUSB0", 0x403, 0x6001)], "/dev/ttyUSB0"),
        ([Found("a", 0x403, 0x6001), Found("b", 0x2E8A, 0xC)], "b"),
        ([Found("a", 0x2E8A, 0xC), Found("b", 0x2E8A, 0xC)], SeveralPorts),
        ([Found("a", 1, 1), Found("b", 1, 1)], SeveralPorts),
    ],
)
def test_which_port(monkeypatch, ports, expected):
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: ports)
    if isinstance(expected, str):
        assert port.find_port(["2e8a:000c"]) == expected
    else:
        with pytest.raises(expected):
            port.find_port(["2e8a:000c"])


def test_an_image_is_known_by_its_bytes(tmp_path, monkeypatch):
    image = tmp_path / "image.elf"
    image.write_bytes(IDENTITY.encode())
    monkeypatch.setattr(conversation, "loaded", lambda image: [(16, b"cd"), (8, b"ab")])
    talk = conversation.Conversation(Named(), None, tmp_path, lambda: False)
    size, checksum = next(conversation.image_words(b"ab" + b"\xff" * 6 + b"cd"))

    def check(text: str) -> None:
        greeting = f"cmrt runner 2 static {IDENTITY}\ncmrt image {text}\n"
        talk.check(Message(MessageKind.GREETING, 0, greeting.encode()), image)

    check(f"{size} {checksum}")
    for other in (f"{size} {int(checksum, 16) ^ 1:x}", f"9 {checksum}", "", size):
        with pytest.raises(OtherImage):
            check(other)


class Named:
    name = "port"
