"""The runner over QEMU's PL011, an independent implementation, on a pseudo-terminal."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from harness.line import Terminal, intact, joined
from harness.toy_image import INTERFACE, expected, write_toy_model

from cmbuild.catalog import read_board
from cmbuild.launchers.execution import Request, execute
from cmbuild.launchers.fault import Fault
from cmbuild.launchers.serial import SerialLine
from cmbuild.process import Processes

SAMPLES = [bytes(range(100)), bytes(100)]


def run(bench, folder: Path, body: str):
    place = bench("rp2350", "dsp")  # the library of the same core
    board = read_board(Path(__file__).parent / "uart_board")
    model = write_toy_model(folder / "model", body)
    image = place.builder.runner(board, place.library, model, folder / "build")
    device, host = Terminal(), Terminal()
    words = ["qemu-system-arm", "-M", "musca-b1", "-kernel", image]
    words += ["-display", "none", "-monitor", "none", "-semihosting-config", "enable=on"]
    words += ["-chardev", f"serial,id=line,path={device.port}", "-serial", "chardev:line"]
    machine = subprocess.Popen(words)
    try:
        with joined(device, host, intact, intact):
            return execute(
                SerialLine(115200, port=host.port),
                Processes(),
                image,
                INTERFACE,
                Request(samples=[[sample] for sample in SAMPLES]),
                folder=folder / "streams",
                timeout=60,
                log=folder / "log",
            )
    finally:
        machine.kill()
        machine.wait()
        device.close()
        host.close()


def test_a_run(bench, tmp_path):
    execution = run(bench, tmp_path, "(void)context;")
    assert execution.outputs == tuple(map(expected, SAMPLES))
    assert min(execution.ticks) > 0
    assert 100 < execution.stack < 2048


def test_a_fault(bench, tmp_path):
    with pytest.raises(Fault) as error:
        run(bench, tmp_path, '(void)context; __asm__ volatile("udf #0");')
    assert "undefined instruction, in first (" in error.value.message
