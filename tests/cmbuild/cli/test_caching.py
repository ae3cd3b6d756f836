"""What a second command does again: nothing but the run, and exactly what a change asks for."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from harness.commands import NETWORK, PROGRAMS, Commands, Result

ROOT = Path(__file__).parents[3]
BOARD = "corstone300"
KERNELS = (
    "add_",
    "avg_",
    "clamp",
    "conv2d",
    "copy_",
    "dequantize",
    "gem",
    "linear",
    "pack_",
    "quantize",
)
"""Beginnings of the names of those that the network needs, and of their loops."""


@pytest.fixture
def run(cmbuild: Commands) -> Callable[..., Result]:
    """Runs a copy of the program on a copy of the board, which a test may change."""
    shutil.copy(NETWORK, cmbuild.folder / "network.pte")
    shutil.copytree(ROOT / "boards" / BOARD, cmbuild.folder / "boards" / BOARD)

    def go(*options: str) -> Result:
        result = cmbuild("run", "network.pte", "--board", BOARD, "--json", *options)
        assert result.exit_code == 0, result.stderr
        return result

    go()
    return go


def test_nothing_changed(run: Callable[..., Result]) -> None:
    assert run().done == {"simulate"}


def test_changed_board(run: Callable[..., Result], cmbuild: Commands) -> None:
    descriptor = cmbuild.folder / "boards" / BOARD / "board.toml"
    descriptor.write_text(descriptor.read_text().replace('stack = "16K"', 'stack = "24K"'))
    assert run().done == {"runner", "simulate"}
    source = cmbuild.folder / "boards" / BOARD / "board.c"
    source.write_text(source.read_text() + "\n")
    assert run().done == {"runner", "simulate"}


def test_changed_program(run: Callable[..., Result], cmbuild: Commands) -> None:
    shutil.copy(PROGRAMS / "two_inputs.pte", cmbuild.folder / "network.pte")
    assert run().done == {"plan", "runner", "reference", "simulate"}


def test_changed_seed_and_number_of_samples(run: Callable[..., Result]) -> None:
    # Of no other test, as the cache is shared.
    assert run("--seed", "50").done == {"reference", "simulate"}
    assert run("--seed", "50", "-n", "3").done == {"reference", "simulate"}
    assert run().done == {"simulate"}


def test_instruction_sets_do_not_disturb_each_other(run: Callable[..., Result]) -> None:
    assert run("--isa", "scalar").done >= {"plan", "runner", "simulate"}
    assert run().done == {"simulate"}
    assert run("--isa", "scalar").done == {"simulate"}


def test_other_board_of_the_same_core_shares_library_and_reference(
    run: Callable[..., Result], cmbuild: Commands
) -> None:
    boards = cmbuild.folder / "boards"
    shutil.copytree(boards / BOARD, boards / "twin")
    result = cmbuild("run", "network.pte", "--board", "twin", "--json")
    assert result.done == {"plan", "runner", "simulate"}


def test_touched_kernel_builds_the_library_and_links_again(
    tmp_path: Path, cmbuild: Commands
) -> None:
    checkout = tmp_path / "checkout"
    for name in ("cmbuild", "compiler", "runtime", "boards"):
        shutil.copytree(ROOT / name, checkout / name)
    shutil.copy(ROOT / "pyproject.toml", checkout)
    # The compiler takes half a minute for the others.
    for source in (*checkout.glob("runtime/kernels/*.c"), *checkout.glob("runtime/isa/*/*.c")):
        if not source.stem.startswith(KERNELS):
            source.unlink()
    path = f"{checkout}:{checkout / 'compiler'}"
    other = replace(cmbuild, environment={"PYTHONPATH": path})
    words = ("run", NETWORK, "--board", "native", "--json")
    assert other(*words).exit_code == 0
    kernel = checkout / "runtime" / "kernels" / "linear.c"
    kernel.write_text(kernel.read_text() + "\nextern int cm_touched;\n")
    assert other(*words).done == {"libs", "runner", "simulate"}
    assert other(*words).done == {"simulate"}


def test_second_run_starts_the_simulator_and_asks_the_compiler(
    run: Callable[..., Result],
) -> None:
    result = run("-v")
    commands = [line for line in result.stderr.splitlines() if line.startswith("$ ")]
    programs = {line.split("&& ")[-1].removeprefix("$ ").split()[0] for line in commands}
    assert {Path(program).name for program in programs} == {"arm-none-eabi-gcc", "qemu-system-arm"}
