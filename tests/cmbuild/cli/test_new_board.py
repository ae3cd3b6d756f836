"""A new board on the command line: written, found and built for."""

from __future__ import annotations

from dataclasses import replace

from harness.commands import NETWORK, Commands

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
    run = here("run", NETWORK, "--board", "mine", "--json")
    assert run.exit_code == 0, run.stderr
    assert (run.document["launcher"], run.document["verified"]) == ("unicorn", True)
    assert run.document["instructions"]["total"] > 1000
    assert all(op["instructions"] > 0 for op in run.document["instructions"]["per_op"])


def test_a_clock_that_stands_still_counts_nothing(cmbuild: Commands) -> None:
    """As a core's cycle counter does in QEMU, whose machine of the same memory is found."""
    words = ("--flash", "0x0:4M", "--ram", "0x20000000:4M", "--dir", "clocks")
    assert cmbuild(*WORDS, *words).exit_code == 0
    assert 'machine = "mps2-an386"' in (cmbuild.folder / "clocks/mine/board.toml").read_text()
    here = replace(cmbuild, environment={"CMBUILD_BOARD_PATH": "clocks"})
    result = here("run", NETWORK, "--board", "mine")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "✓ verified: 1 of 1 sample" in result.stdout
    shown = " ".join(result.stdout.split())
    assert "not counted: the clock of cm_board_ticks does not advance here" in shown


def test_help_comes_of_itself(cmbuild: Commands) -> None:
    assert "board" in cmbuild("new").stdout
    assert cmbuild(*WORDS).exit_code == 2
