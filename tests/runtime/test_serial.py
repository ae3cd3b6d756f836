"""The runner over a serial line: this computer plays the board, on a pseudo-terminal."""

from __future__ import annotations

import os
import random
import select
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness.line import Terminal, intact, joined
from harness.toy_image import INTERFACE, expected, write_toy_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cmbuild.catalog import read_board
from cmbuild.firmware.builder import Builder
from cmbuild.hardware import frames
from cmbuild.hardware.messages import Message, MessageKind
from cmbuild.launchers.execution import VERSION, Request, Watch, execute
from cmbuild.launchers.serial import SerialLine
from cmbuild.process import Processes

BOARD = Path(__file__).parent / "serial_board"
SAMPLES = [bytes(range(100)), bytes(range(100, 200)), bytes(100)]
REQUEST = Request(
    samples=[[sample] for sample in SAMPLES],
    profiled=2,
    watches=[Watch(0, 0, 100), Watch(0, 0x80000000, 3), Watch(1, 50, 2)],
)


@pytest.fixture(scope="module")
def image(bench, tmp_path_factory) -> Path:
    place = bench("native", "scalar")
    folder = tmp_path_factory.mktemp("serial")
    model = write_toy_model(folder / "model")
    builder: Builder = place.builder
    return builder.runner(read_board(BOARD), place.library, model, folder / "build")


@pytest.fixture
def start(image: Path) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Starts the image on a port."""
    started = []

    def run(port: str) -> subprocess.Popen[bytes]:
        variables = {**os.environ, "CMRT_SERIAL": port}
        started.append(subprocess.Popen([image], env=variables))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.wait()


def talk(port: str, image: Path, folder: Path, request: Request = REQUEST):
    return execute(
        SerialLine(115200, port=port),
        Processes(),
        image,
        INTERFACE,
        request,
        folder=folder / "streams",
        timeout=60,
        log=folder / "log",
    )


@pytest.fixture
def line() -> Iterator[tuple[Terminal, Terminal]]:
    ends = Terminal(), Terminal()
    yield ends
    for end in ends:
        end.close()


def test_a_run(image, start, line, tmp_path):
    device, host = line
    process = start(device.port)
    with joined(device, host, intact, intact):
        execution = talk(host.port, image, tmp_path)
        assert process.wait(30) == 3, "it restarts after the end"
    assert execution.outputs == tuple(map(expected, SAMPLES))
    assert [len(steps) for steps in execution.step_ticks] == [2, 2]
    assert execution.stack == 100
    assert [len(trace) for trace in execution.traces] == [3, 3, 3]
    log = (tmp_path / "log").read_text().splitlines()
    assert log[0] == f"cmrt runner {VERSION} static {INTERFACE.identity}"
    assert log[-2:] == ["cmrt end 0", "-- status 0"]


@pytest.mark.parametrize("seed", range(3))
def test_a_bad_line_costs_time_and_nothing_else(image, start, line, tmp_path, seed):
    device, host = line
    chance = random.Random(seed)

    def spoil(data: bytes) -> bytes:
        if chance.random() > 0.2:
            return data
        place = chance.randrange(len(data))
        what = chance.randrange(3)
        if what == 0:
            return data[:place] + data[place + 1 :]
        if what == 1:
            return (
                data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]
            )
        return data[:place] + chance.randbytes(3) + data[place:]

    start(device.port)
    with joined(device, host, spoil, spoil):
        execution = talk(host.port, image, tmp_path, Request(REQUEST.samples[:1]))
    assert execution.outputs == (expected(SAMPLES[0]),)


ANSWERS = st.builds(
    lambda kind, number, body: frames.encode(Message(kind, number, body).pack()),
    st.sampled_from(MessageKind),
    st.integers(0, 6),
    st.one_of(st.binary(max_size=20), st.integers(0, 1084).map(bytes)),
)
SPEECH = st.lists(st.one_of(ANSWERS, st.binary(max_size=30)), max_size=8).map(b"".join)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(speech=SPEECH)
def test_whatever_the_host_says_the_device_lives(image, start, speech):
    """Under sanitizers; it keeps asking until it receives a restart."""
    terminal = Terminal()
    process = start(terminal.port)
    want = frames.encode(Message(MessageKind.DONE, 0).pack())
    enough = frames.encode(Message(MessageKind.RESTART, 0).pack())
    os.write(terminal.board, want + speech)
    while process.poll() is None:
        os.write(terminal.board, enough)
        while select.select([terminal.board], [], [], 0.01)[0]:
            os.read(terminal.board, 4096)
    terminal.close()
    assert process.returncode == 3
