"""A new board on the command line: written, found and built for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from harness.commands import NETWORK, Commands

from cmcompiler.target import BEST_ISA

WORDS = ("new", "board", "mine", "--cpu", "cortex-m4")
MEMORY = ("--flash", "0x08000000:1M", "--ram", "0x20000000:256K")


def test_firmware_for_a_new_board_links_at_once(cmbuild: Commands) -> None:
    done = cmbuild(*WORDS, *MEMORY, "--dir", "places")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "cmbuild run mlp --board mine" in done.stdout
    here = replace(cmbuild, environment={"CMBUILD_BOARD_PATH": "places"})
    built = here("build", NETWORK, "--board", "mine", "--json")
    assert built.exit_code == 0, built.stderr
    flash = built.document["memory"]["flash"]
    assert flash["capacity"] == 1 << 20
    assert 0 < flash["code"] < 20_000
    reserved = built.document["memory"]["ram"]["reserved"]
    assert 768 < reserved < 4096
    run = here("run", NETWORK, "--board", "mine", "--json")
    assert run.exit_code == 0, run.stderr
    assert (run.document["launcher"], run.document["verified"]) == ("unicorn", True)
    assert run.document["instructions"]["total"] > 1000
    assert all(op["instructions"] > 0 for op in run.document["instructions"]["per_op"])
    ram = run.document["memory"]["ram"]
    assert 0 < ram["stack"] < ram["reserved"] - 512 == reserved - 512


def test_a_clock_that_stands_still_leaves_counting_to_the_simulator(cmbuild: Commands) -> None:
    """A core's cycle counter stands still in QEMU, whose machine of the same memory is used."""
    words = ("--flash", "0x0:4M", "--ram", "0x20000000:4M", "--dir", "clocks")
    assert cmbuild(*WORDS, *words).exit_code == 0
    assert 'machine = "mps2-an386"' in (cmbuild.folder / "clocks/mine/board.toml").read_text()
    here = replace(cmbuild, environment={"CMBUILD_BOARD_PATH": "clocks"})
    result = here("run", NETWORK, "--board", "mine", "--json")
    assert (result.exit_code, result.document["verified"]) == (0, True)
    instructions = result.document["instructions"]
    assert "block by block" in instructions["provenance"]
    with_timer = here("run", NETWORK, "--board", "mps2-an386", "--json").document["instructions"]
    assert abs(instructions["total"] / with_timer["total"] - 1) < 0.01
    assert [op["title"] for op in instructions["per_op"]] == [
        op["title"] for op in with_timer["per_op"]
    ]
    assert result.document["cycles"]["total"] > 0


def test_a_board_by_the_name_of_its_chip(cmbuild: Commands) -> None:
    """Its flash lies where QEMU's machine of this core does not look for vectors."""
    done = cmbuild("new", "board", "lpc", "--chip", "LPC55S69", "--dir", "chips")
    assert (done.exit_code, done.stderr) == (0, "")
    here = replace(cmbuild, environment={"CMBUILD_BOARD_PATH": "chips"})
    result = here("run", NETWORK, "--board", "lpc", "--json")
    assert (result.exit_code, result.document["verified"]) == (0, True), result.stderr
    alone = cmbuild("run", NETWORK, "--board", "LPC55S69", "--json")
    assert (alone.exit_code, alone.document["verified"]) == (0, True), alone.stderr


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("cpu", BEST_ISA)
def test_images_run_wherever_the_flash_is(cmbuild: Commands, cpu: str) -> None:
    here = replace(cmbuild, environment={"CMBUILD_BOARD_PATH": "everywhere"})
    for origin in ("0x0", "0x08000000", "0x10000000", "0x60000000"):
        name = f"{cpu}-{origin}"
        memory = ("--flash", f"{origin}:1M", "--ram", "0x20000000:256K", "--dir", "everywhere")
        made = cmbuild("new", "board", name, "--cpu", cpu, *memory)
        assert (made.exit_code, made.stderr) == (0, "")
        run = here("run", NETWORK, "--board", name, "--json")
        assert (run.exit_code, run.document["verified"]) == (0, True), run.stderr
        ram = run.document["memory"]["ram"]
        assert ram["stack"] <= ram["reserved"] - 512


def test_a_stack_that_no_code_states_is_assumed_and_said(cmbuild: Commands) -> None:
    assert cmbuild(*WORDS, *MEMORY, "--dir", "deep").exit_code == 0
    code = cmbuild.folder / "deep" / "mine" / "board.c"
    recursion = """
static __attribute__((noinline, optimize("O0"))) int sum(volatile int *tree)
{
    return *tree == 0 ? 0 : sum(tree + 1) + *tree;
}
"""
    text = code.read_text().replace(
        "void cm_board_init(void)\n{",
        recursion
        + "void cm_board_init(void)\n{\n    volatile int tree[2] = {1, 0};\n    sum(tree);",
    )
    code.write_text(text)
    here = replace(cmbuild, environment={"CMBUILD_BOARD_PATH": "deep"})
    built = here("build", NETWORK, "--board", "mine")
    assert (built.exit_code, built.stderr) == (0, "")
    assert "4 KB stack, assumed because sum calls itself" in " ".join(built.stdout.split())
    file = code.with_name("board.toml")
    file.write_text(file.read_text().replace('# stack = "4K"', 'stack = "3K"'))
    stated = here("build", NETWORK, "--board", "mine", "--json").document
    assert stated["memory"]["ram"]["reserved"] == 3072


def test_chips_are_listed(cmbuild: Commands) -> None:
    listed = cmbuild("chips", "nrf5284", "--json").document
    assert [chip["name"] for chip in listed["chips"]] == ["nRF52840_xxAA"]
    assert listed["source"].startswith("probe-rs-")
    assert "1 chip; facts from probe-rs" in cmbuild("chips", "nRF52840*").stdout


def test_help_comes_of_itself(cmbuild: Commands) -> None:
    assert "board" in cmbuild("new").stdout
    assert cmbuild(*WORDS).exit_code == 2
