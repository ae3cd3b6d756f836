"""`cmbuild flash` and doit's task of that name, with a folder for a boot loader's volume."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from harness.commands import NETWORK, Commands
from harness.flashing import BootRom, fake_tool, make_volume, path_without_programs

from cmbuild.image import uf2

FLASH = ("flash", NETWORK, "--board", "rp2350")
ROOT = Path(__file__).parents[3]


def test_the_image_is_built_and_copied(cmbuild: Commands, tmp_path: Path) -> None:
    volume = make_volume(tmp_path / "RP2350")
    with BootRom(volume) as board:
        result = cmbuild(*FLASH, "--volume", volume, "--json")
    assert result.exit_code == 0, result.stderr
    document = result.document
    assert (document["method"], document["place"]) == ("uf2", str(volume))
    assert board.flashed == Path(document["artifacts"]["uf2"]).read_bytes()
    image = Path(document["artifacts"]["bin"]).read_bytes()
    assert document["identity"].encode() in image
    flashed = b"".join(block.payload for block in uf2.decode(board.flashed, "")[1:])
    assert flashed[: len(image)] == image


def test_dry_run_touches_nothing(cmbuild: Commands, tmp_path: Path) -> None:
    volume = make_volume(tmp_path / "RP2350")
    result = cmbuild(*FLASH, "--volume", volume, "--dry-run", "--json")
    document = result.document
    assert (result.exit_code, document["dry_run"], document["place"]) == (0, True, None)
    assert document["actions"][0].startswith(f"copy {document['artifacts']['uf2']} to {volume}: ")
    assert [path.name for path in volume.iterdir()] == ["INFO_UF2.TXT"]


@pytest.mark.parametrize("method", ["uf2", "picotool", "probe-rs", "pyocd", "openocd"])
def test_dry_run_needs_neither_board_nor_program(cmbuild: Commands, method: str) -> None:
    result = cmbuild(*FLASH, "--method", method, "--dry-run")
    assert result.exit_code == 0, result.stderr
    assert "rehearsed" in result.stdout
    runner = cmbuild.folder / "build" / "network" / "rp2350" / "runner" / "runner"
    (action,) = (line for line in result.stdout.splitlines() if line.startswith("  would "))
    assert f"{runner}.uf2 " in action or f"{runner}.elf" in action, "a command is on one line"
    assert "wait up to 15 s for the image's greeting" in result.stdout


def test_nothing_to_flash_is_said_before_any_work(cmbuild: Commands, tmp_path: Path) -> None:
    path = path_without_programs(tmp_path / "bin")
    commands = replace(cmbuild, environment={"PATH": path})
    result = commands(*FLASH)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith(
        "error: no flash method is available for rp2350: no RP2350 volume found"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--method", "jtag"), "error: unknown way to flash rp2350 'jtag'"),
        (
            ("--board", "native"),
            "error: firmware cannot be flashed onto native: its board.toml has no [flash]",
        ),
    ],
)
def test_what_makes_no_sense(cmbuild: Commands, words: tuple[str, ...], message: str) -> None:
    result = cmbuild(*FLASH, *words)
    assert (result.exit_code, result.stderr.splitlines()[0]) == (2, message)


def test_a_probes_program_gets_the_image(cmbuild: Commands, tmp_path: Path) -> None:
    program = fake_tool(tmp_path / "bin", "openocd")
    path = f"{program.parent}:{cmbuild.variables['PATH']}"
    result = replace(cmbuild, environment={"PATH": path})(*FLASH, "--method", "openocd")
    assert result.exit_code == 0, result.stderr
    assert "rp2350 through openocd" in result.stdout
    assert "runner.elf" in program.with_name("openocd.txt").read_text()


def test_doit_does_the_same(cmbuild: Commands, tmp_path: Path) -> None:
    volume = make_volume(tmp_path / "RP2350")
    words = ("flash", f"model={NETWORK}", "board=rp2350", f"volume={volume}", "json=1")
    with BootRom(volume) as board:
        result = cmbuild("-f", ROOT / "dodo.py", "-d", ROOT, *words, program=("doit",))
    assert result.exit_code == 0, result.stderr
    assert board.flashed is not None


def test_the_last_model_is_flashed_where_none_is_named(cmbuild: Commands) -> None:
    assert cmbuild("build", NETWORK, "--board", "rp2350").exit_code == 0
    line = f"model     {NETWORK} (last built for rp2350)"
    result = cmbuild("flash", "--board", "rp2350", "--dry-run")
    assert result.exit_code == 0, result.stderr
    assert line in result.stdout
    words = ("-f", ROOT / "dodo.py", "-d", ROOT, "flash", "board=rp2350", "dry_run=1")
    build_dir = f"build_dir={cmbuild.folder / 'build'}"
    result = cmbuild(*words, build_dir, program=("doit",))
    assert result.exit_code == 0, result.stderr
    assert line in result.stdout


@pytest.mark.parametrize(
    ("board", "names"),
    [
        ("nucleo-h743zi", ("STM32H743ZITx", "stm32h743xx", "board/st_nucleo_h743zi.cfg")),
        ("nrf52840dk", ("nRF52840_xxAA", "nrf52840", "board/nordic_nrf52_dk.cfg")),
    ],
)
def test_boards_with_probes_are_data(
    cmbuild: Commands, board: str, names: tuple[str, str, str]
) -> None:
    for method, name in zip(("probe-rs", "pyocd", "openocd"), names, strict=True):
        words = ("flash", NETWORK, "--board", board, "--method", method, "--dry-run", "--json")
        result = cmbuild(*words)
        assert result.exit_code == 0, result.stderr
        first, *_ = result.document["actions"]
        assert name in first.split()
        assert Path(result.document["artifacts"]["hex"]).stat().st_size > 0
