"""Corrupt images are refused in one line before any simulator starts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from harness.doctored import Doctored
from harness.toy_image import write_toy_model

from cmbuild.catalog import find_board
from cmbuild.errors import ExitCode
from cmbuild.image.checks import (
    BadReset,
    LacksKernels,
    Misaligned,
    OutsideMemory,
    check_image,
    check_placement,
)
from cmbuild.image.elf import NoVectors, vectors
from cmbuild.image.record import ImageRecord
from cmbuild.launchers.registry import launchers_of
from cmbuild.launchers.simulators.native import Native
from cmbuild.launchers.simulators.qemu import Qemu

CODE, DATA, WEIGHTS = 0x10000000, 0x30000000, 0x38000000
KERNELS = {"main", "finish"}
"""Functions of every image, used in place of kernels."""


@pytest.fixture(scope="module")
def place(bench):
    return bench("corstone300", "mve")


@pytest.fixture(scope="module")
def image(place, tmp_path_factory):
    folder = tmp_path_factory.mktemp("preflight")
    model = write_toy_model(folder / "model")
    return place.builder.runner(place.board, place.library, model, folder / "build")


def check(image, board, launcher, kernels):
    check_image(
        image,
        ImageRecord.of(image),
        board,
        kernels=kernels,
        machine=launcher.title,
        memory=launcher.memory,
    )


def test_a_right_image_passes(place, image):
    check(image, place.board, place.launcher, KERNELS)


def doctored(image, name):
    stack, reset = vectors(image)
    arena = ImageRecord.of(image).sections[".arena"]
    return {
        "segment": lambda elf: elf.segment(WEIGHTS, address=0x38800000),
        "loaded": lambda elf: elf.segment(WEIGHTS, physical=0x387FFFF0),
        "stack": lambda elf: elf.vector(0, 0x50000000, CODE),
        "stack's end": lambda elf: elf.vector(0, DATA + 0x100, CODE),
        "stack alignment": lambda elf: elf.vector(0, stack - 4, CODE),
        "ARM state": lambda elf: elf.vector(1, reset & ~1, CODE),
        "reset": lambda elf: elf.vector(1, WEIGHTS + 0x1001, CODE),
        "vectors": lambda elf: elf.rename(".vectors", ".vektors"),
        "weights": lambda elf: elf.section(WEIGHTS, address=WEIGHTS + 8),
        "arena": lambda elf: elf.section(arena, address=arena + 4),
        "kernel": lambda elf: elf.rename("cm_finish", "cm_xinish"),
    }[name](Doctored(image))


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("segment", OutsideMemory, "a segment of .* is at 0x38800000–0x38800044, where corstone"),
        ("loaded", OutsideMemory, "0x387ffff0–0x38800034, where corstone300 has no memory"),
        ("stack", OutsideMemory, "the stack of .* is at 0x4fffc000–0x50000000"),
        ("stack's end", OutsideMemory, "the stack of .* is at 0x2fffc100–0x30000100"),
        ("stack alignment", Misaligned, "not aligned to 8 bytes"),
        ("ARM state", BadReset, "which is not Thumb code"),
        ("reset", BadReset, "starts at 0x38001000, which is not Thumb code"),
        ("vectors", NoVectors, "does not have a section .vectors"),
        ("weights", Misaligned, "section .weights .* 0x38000008, .* not aligned to 16 bytes"),
        ("arena", Misaligned, "the arena of .* not aligned to 16 bytes"),
        ("kernel", LacksKernels, "has no cm_finish, called by the program"),
    ],
)
def test_a_mistake_is_one_line(*, name, error, message, place, image, tmp_path):
    wrong = doctored(image, name).save(tmp_path / "image.elf")
    with pytest.raises(error, match=message) as caught:
        check(wrong, place.board, place.launcher, KERNELS)
    assert caught.value.exit_code is ExitCode.FAILED
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("region", ["qspi", "dtcm", "itcm"])
def test_memory_that_the_board_lacks(region, place, image):
    regions = {name: r for name, r in place.board.regions.items() if name != region}
    with pytest.raises(OutsideMemory, match="where corstone300 has no memory"):
        check_placement(image, ImageRecord.of(image), replace(place.board, regions=regions))


def test_memory_that_the_simulator_lacks(place, image):
    """A simulator may lack memory that its board has."""
    other = next(x for x in launchers_of(find_board("rp2350")) if x.name == "qemu")
    with pytest.raises(OutsideMemory, match=r"0x31000000–.*, where QEMU musca-b1 has no memory"):
        check(image, place.board, other, KERNELS)
    check(image, place.board, Qemu("a machine of somebody's own", 1), KERNELS)


def test_a_program_for_this_computer_needs_its_kernels(bench, tmp_path):
    place = bench("native", "scalar")
    model = write_toy_model(tmp_path / "model")
    image = place.builder.runner(place.board, place.library, model, tmp_path / "build")
    check(image, place.board, Native(), KERNELS)
    with pytest.raises(LacksKernels, match="has no cm_conv2d_s8"):
        check(image, place.board, Native(), {*KERNELS, "conv2d_s8"})
