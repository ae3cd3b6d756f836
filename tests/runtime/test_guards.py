"""What each core catches, with and without an MPU: null pointers and stack overflows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from harness.small_library import build_small_library
from harness.toy_image import INTERFACE, expected, write_toy_model

from cmbuild.boards.memory import Memory, Region
from cmbuild.catalog import find_board
from cmbuild.firmware.builder import Builder
from cmbuild.image.record import ImageRecord
from cmbuild.launchers.base import Launcher
from cmbuild.launchers.execution import Execution, Request, execute
from cmbuild.launchers.fault import Fault
from cmbuild.launchers.registry import launchers_of
from cmbuild.launchers.simulators.qemu import Qemu
from cmbuild.process import Processes
from cmbuild.toolchain.toolchains import find_toolchain
from cmcompiler.target import Target

HELPERS = """\
#include "cmrt/board.h"

/* Recursion that is inlined has frames longer than the guard, of which little is written. */
__attribute__((noinline)) static int deep(volatile int n)
{
    volatile char local[100];
    local[0] = (char)n;
    return n == 0 ? local[0] : deep(n - 1) + local[0];
}"""
# The first byte of the input selects the mistake.
BODY = """\
switch (context->arena[0]) {
case 1: (void)*(volatile int *)0; break;
case 2: (void)*(volatile int *)0x7c; break;
case 3: context->arena[1] = (uint8_t)deep(100000); break;
case 4: __asm__ volatile("udf #0"); break;
case 5: context->arena[1] = (uint8_t)deep((int)cm_board_stack().size / 200); break;
}"""
NOTHING, NULL, FIELD, DEEP, UNDEFINED, HALF = range(6)

WITH_MPU = ("mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505")


@dataclass(frozen=True)
class Place:
    launcher: Launcher
    image: Path

    def run(self, what: int, folder: Path) -> Execution:
        return execute(
            self.launcher,
            Processes(),
            self.image,
            INTERFACE,
            Request(samples=[[bytes([what] + [0] * 99)]]),
            folder=folder / "streams",
            timeout=60.0,
            log=folder / "log",
        )


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    made: dict[str, Place] = {}

    def get(name: str) -> Place:
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            board, processes = find_board(name), Processes()
            toolchain = find_toolchain(board.toolchain, processes, folder / "log")
            builder = Builder(processes, toolchain, Target.parse(board.cpu))
            model = write_toy_model(folder / "model", BODY, helpers=HELPERS)
            library = build_small_library(builder, folder / "library")
            image = builder.runner(board, library, model, folder / "build")
            made[name] = Place(launchers_of(board)[0], image)
        return made[name]

    return get


@pytest.mark.parametrize("board", WITH_MPU)
@pytest.mark.parametrize(("what", "address"), [(NULL, "0x00000000"), (FIELD, "0x0000007c")])
def test_a_null_pointer_is_caught(board, what, address, place, tmp_path):
    """Although most of them have vectors at address 0."""
    with pytest.raises(Fault, match=f"HardFault: access denied at {address}, in first"):
        place(board).run(what, tmp_path)


@pytest.mark.parametrize("board", WITH_MPU)
def test_a_stack_overflow_is_caught(board, place, tmp_path):
    with pytest.raises(Fault, match="HardFault: stack overflow"):
        place(board).run(DEEP, tmp_path)


@pytest.mark.parametrize("board", [*WITH_MPU, "microbit"])
def test_a_fault_is_told_with_its_place(board, place, tmp_path):
    with pytest.raises(Fault, match=r"HardFault.*, in first \(body.h:\d+\), LR in") as error:
        place(board).run(UNDEFINED, tmp_path)
    assert str(tmp_path / "log") in error.value.hint


@pytest.mark.parametrize("board", [*WITH_MPU, "microbit"])
def test_guards_are_in_nobodys_way(board, place, tmp_path):
    """They do not disturb the high-water mark of the stack either."""
    sample = bytes(100)
    shallow = place(board).run(NOTHING, tmp_path / "1")
    deep = place(board).run(HALF, tmp_path / "2")
    assert shallow.outputs == (expected(sample),)
    assert 100 < shallow.stack < 2048
    size = find_board(board).stack
    assert size // 2 < deep.stack < size


def test_what_is_at_address_0_may_be_read(tmp_path):
    """Constants at 0, through the alias of a memory that holds nothing else; vectors elsewhere."""
    board = find_board("corstone300")
    low = Region("low", Memory.FLASH, 0, 512 << 10)
    board = replace(
        board,
        regions={**board.regions, "low": low},
        layout=board.layout.model_copy(update={"code": "bram", "constants": "low"}),
    )
    processes = Processes()
    toolchain = find_toolchain(board.toolchain, processes, tmp_path / "log")
    builder = Builder(processes, toolchain, Target.parse(board.cpu))
    model = write_toy_model(tmp_path / "model", BODY, helpers=HELPERS)
    library = build_small_library(builder, tmp_path / "library")
    image = builder.runner(board, library, model, tmp_path / "build")
    assert ImageRecord.of(image).sections[".weights"] == 0
    launcher = Qemu("mps3-an547", 32_000_000, boots="entry")
    execution = Place(launcher, image).run(NOTHING, tmp_path)
    assert execution.outputs == (expected(bytes(100)),)


def test_without_an_mpu_the_end_of_memory_ends_the_run(place, tmp_path):
    with pytest.raises(Fault, match="HardFault: stack overflow"):
        place("microbit").run(DEEP, tmp_path)
