"""The rp2350's firmware on a model of its chip: clocks, pins and serial, from the UF2 file on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from harness.line import Terminal, intact, joined
from harness.toy_image import INTERFACE, expected, write_toy_model

from cmbuild.hardware.conversation import Restarted
from cmbuild.image.elf import Symbols
from cmbuild.image.record import ImageRecord
from cmbuild.launchers.execution import Request, execute
from cmbuild.launchers.fault import Fault
from cmbuild.launchers.real import hardware
from cmbuild.launchers.registry import launchers_of
from cmbuild.launchers.serial import SerialLine
from cmbuild.process import Processes

TESTS = Path(__file__).parents[1]
SAMPLES = [bytes(range(100)), bytes(100)]
REQUEST = Request(samples=[[sample] for sample in SAMPLES])

Build = Callable[[str], Path]


@pytest.fixture(scope="module")
def build(bench, tmp_path_factory) -> Build:
    """The image of the toy model whose first step begins with some C statements."""
    place = bench("rp2350", "dsp")

    def build(body: str) -> Path:
        folder = tmp_path_factory.mktemp("toy")
        model = write_toy_model(folder / "model", body)
        return place.builder.runner(place.board, place.library, model, folder / "build")

    return build


@contextmanager
def board(image: Path, haste: float = 1.0) -> Iterator[SerialLine]:
    """The chip with an image in its flash, on a serial port."""
    device, host = Terminal(), Terminal()
    words = [sys.executable, "-m", "harness.rp2350", image.with_suffix(".uf2"), device.port]
    path = f"{TESTS}{os.pathsep}{os.pathsep.join(sys.path)}"
    chip = subprocess.Popen([*words, str(haste)], env={**os.environ, "PYTHONPATH": path})
    try:
        with joined(device, host, intact, intact):
            yield SerialLine(921600, port=host.port)
            assert chip.poll() is None, "the model refused what the firmware did"
    finally:
        chip.kill()
        chip.wait()
        device.close()
        host.close()


TELLS_ITS_CONSTANTS = """
    if ((uintptr_t)context->constants < 0x20000000)
        __asm__ volatile("udf #0");
"""


def run(launcher, image: Path, folder: Path):
    return execute(
        launcher,
        Processes(),
        image,
        INTERFACE,
        REQUEST,
        folder=folder / "streams",
        timeout=120,
        log=folder / "log",
    )


def test_one_image_runs_on_the_chip_and_in_the_simulator(build, bench, tmp_path):
    image = build("(void)context;")
    with board(image) as line:
        line.hear(image, tmp_path / "greeting", Processes())
        first = run(line, image, tmp_path / "1")
        again = run(line, image, tmp_path / "2")  # it has restarted by itself
    simulated = run(bench("rp2350", "dsp").launcher, image, tmp_path / "3")
    for execution in (first, again, simulated):
        assert execution.outputs == tuple(map(expected, SAMPLES))
        assert [len(steps) for steps in execution.step_ticks] == [2]
        assert min(execution.ticks) > 0
        assert 100 < execution.stack < 2048
    assert line.unit == "cycles"


def test_microkernels_run_from_ram(bench, tmp_path):
    place = bench("rp2350", "dsp")
    there = place.board
    hot = replace(there, layout=there.layout.model_copy(update={"hot": "sram"}))
    model = write_toy_model(
        tmp_path / "model",
        "static const int8_t there[16] = {1}; int8_t here[16]; (void)context;\n"
        "    cm_isa_copy_blocks_s8(here, 16, there, 16, 16, 1);",
        helpers='#include "cmrt/isa.h"',
    )
    image = place.builder.runner(hot, place.library, model, tmp_path / "build")
    functions = {name: start for start, _, name in Symbols.read(image).functions}
    assert hot.regions["sram"].holds(functions["cm_isa_copy_blocks_s8"], 4)
    assert run(place.launcher, image, tmp_path / "1").outputs == tuple(map(expected, SAMPLES))
    with board(image) as line:
        assert run(line, image, tmp_path / "2").outputs == tuple(map(expected, SAMPLES))


def test_constants_are_read_from_ram(bench, tmp_path):
    place = bench("rp2350", "dsp")
    copied = place.board.layout.model_copy(update={"hot_constants": "sram"})
    model = write_toy_model(tmp_path / "model")
    folder, there = tmp_path / "build", replace(place.board, layout=copied)
    image = place.builder.runner(there, place.library, model, folder)
    record = ImageRecord.read(folder)
    assert there.regions["sram"].holds(record.sections[".weights"], record.sizes.weights)
    assert run(place.launcher, image, tmp_path / "1").outputs == tuple(map(expected, SAMPLES))


def test_the_constants_of_the_first_steps_are_read_from_ram(bench, tmp_path):
    place = bench("rp2350", "dsp")
    # Differs from what the model is to return, which the second step reads from flash.
    model, folder = write_toy_model(tmp_path / "model", TELLS_ITS_CONSTANTS), tmp_path / "build"
    options = ["-DCMRT_HOT_STEPS=1", "-DCMRT_HOT_BYTES=16"]
    image = place.builder.runner(place.board, place.library, model, folder, options)
    plain = place.builder.runner(place.board, place.library, model, tmp_path / "plain")
    sizes, without = ImageRecord.read(folder).sizes, ImageRecord.read(plain.parent).sizes
    assert (sizes.copied, without.copied) == (16, 0)
    assert sizes.static == without.static
    assert run(place.launcher, image, tmp_path / "1").outputs == tuple(map(expected, SAMPLES))
    with pytest.raises(Fault):
        run(place.launcher, plain, tmp_path / "2")


def unicorn(bench):
    launchers = launchers_of(bench("rp2350", "dsp").board)
    return next(launcher for launcher in launchers if launcher.name == "unicorn")


def test_the_emulator_agrees(build, bench, tmp_path):
    execution = run(unicorn(bench), build("(void)context;"), tmp_path)
    assert execution.outputs == tuple(map(expected, SAMPLES))
    assert execution.stack > 100


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("*(volatile int *)0x30000000 = 1;", "no memory there at 0x30000000, in first ("),
        ('__asm__ volatile("udf #0");', "in first ("),
    ],
)
def test_the_emulator_tells_faults(build, bench, tmp_path, body, message):
    with pytest.raises(Fault) as error:
        run(unicorn(bench), build(f"(void)context; {body}"), tmp_path)
    assert message in error.value.message


def test_a_fault_is_told_over_the_line(build, tmp_path):
    image = build("(void)context; *(volatile int *)0x30000000 = 1;")
    with board(image) as line, pytest.raises(Fault) as error:
        run(line, image, tmp_path)
    assert "HardFault: no memory there at 0x30000000, in first (" in error.value.message


def test_a_hang_ends_by_the_watchdog(build, tmp_path):
    image = build("(void)context; for (volatile int i = 0;;) i = i;")
    with board(image, haste=20) as line, pytest.raises(Restarted):
        run(line, image, tmp_path)


def test_the_ports_name_reaches_the_launcher():
    from cmbuild.catalog import find_board

    line = hardware(find_board("rp2350"), "/dev/ttyACM7")
    assert (line.port, line.baud) == ("/dev/ttyACM7", 921600)
