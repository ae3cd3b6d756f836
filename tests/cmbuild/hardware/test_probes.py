"""Programs that flash: the commands they get, and what becomes of their failures."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.flashing import fake_tool

from cmbuild.catalog import find_board
from cmbuild.errors import ExitCode, MissingTool, ProcessFailed, TimedOut
from cmbuild.hardware.method import FlashJob, Selection
from cmbuild.hardware.methods.openocd import OpenOcd
from cmbuild.hardware.methods.picotool import Picotool
from cmbuild.hardware.methods.probe_rs import ProbeRs
from cmbuild.hardware.methods.pyocd import PyOcd
from cmbuild.hardware.methods.teensy import Teensy
from cmbuild.hardware.registry import NoMethod, flashing
from cmbuild.process import Processes

BOARD = find_board("rp2350")

COMMANDS = {
    "picotool": (Picotool(), "load --verify --execute IMAGE -t elf", "--ser E66"),
    "probe-rs": (ProbeRs(chip="RP235x"), "download --non-interactive --chip RP235x", "--probe E66"),
    "pyocd": (PyOcd(target="rp2350"), "load --no-wait --target rp2350", "--uid E66"),
    "openocd": (
        OpenOcd(configurations=["a.cfg", "b.cfg"]),
        "-f a.cfg -f b.cfg",
        "-c adapter serial E66",
    ),
}


@pytest.fixture
def bin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH: this computer may have the programs."""
    folder = tmp_path / "bin"
    monkeypatch.setenv("PATH", str(folder))
    return folder


def job(folder: Path, selection: Selection = Selection(), timeout: float = 60.0) -> FlashJob:  # noqa: B008
    return FlashJob(BOARD, folder / "IMAGE", selection, folder / "log", timeout)


def test_every_program_is_tried():
    assert set(COMMANDS) == set(flashing(BOARD).methods) - {"uf2"}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name, bin, tmp_path):
    method, words, probe = COMMANDS[name]
    words = words.replace("IMAGE", str(tmp_path / "IMAGE"))
    program = fake_tool(bin, name)
    assert method.flash(job(tmp_path), Processes()) == f"rp2350 through {name}"
    said = program.with_name(f"{name}.txt").read_text()
    assert said.replace("\n", " ").startswith(words)
    assert f"{tmp_path}/IMAGE" in said
    described = method.describe(job(tmp_path))
    assert len(described) == (2 if name == "probe-rs" else 1)
    assert all(line.startswith(name) for line in described)
    method.flash(job(tmp_path, Selection(probe="E66")), Processes())
    assert probe in program.with_name(f"{name}.txt").read_text().replace("\n", " ")


def test_probe_rs_also_starts_the_image(bin, tmp_path):
    program = fake_tool(bin, "probe-rs")
    ProbeRs(chip="RP235x").flash(job(tmp_path), Processes())
    lines = program.with_name("probe-rs.txt").read_text().splitlines()
    assert lines[lines.index("reset") :] == ["reset", "--non-interactive", "--chip", "RP235x"]


def test_the_teensys_program_has_a_name_of_its_own(bin, tmp_path):
    with pytest.raises(MissingTool, match="teensy_loader_cli not found"):
        Teensy(mcu="TEENSY41").flash(job(tmp_path), Processes())
    program = fake_tool(bin, "teensy_loader_cli")
    said = Teensy(mcu="TEENSY41").flash(job(tmp_path), Processes())
    assert said == "rp2350 through teensy_loader_cli"
    words = program.with_name("teensy_loader_cli.txt").read_text().split()
    assert words == ["--mcu=TEENSY41", "-w", "-v", f"{tmp_path}/IMAGE.hex"]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_program_that_fails(name, bin, tmp_path):
    fake_tool(bin, name, "echo 'Error: no probe found' >&2; exit 1")
    with pytest.raises(ProcessFailed, match="failed with status 1: Error: no probe") as error:
        COMMANDS[name][0].flash(job(tmp_path), Processes())
    assert error.value.exit_code is ExitCode.FAILED
    assert "no probe" in (tmp_path / "log").read_text()


def test_a_program_that_hangs(bin, tmp_path):
    fake_tool(bin, "pyocd", "exec /bin/sleep 600")
    with pytest.raises(TimedOut, match=r"pyocd did not end within 0\.5 s"):
        PyOcd(target="rp2350").flash(job(tmp_path, timeout=0.5), Processes())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_program_that_is_missing(name, bin, tmp_path):
    with pytest.raises(MissingTool, match=f"{name} not found") as error:
        COMMANDS[name][0].flash(job(tmp_path), Processes())
    assert error.value.exit_code is ExitCode.MISSING
    assert error.value.hint
    last = COMMANDS[name][0].describe(job(tmp_path))[-1]
    assert last.startswith(f"but {name} not found: ")


def test_the_first_that_is_possible_is_chosen(bin):
    with pytest.raises(NoMethod, match="no RP2350 volume found; picotool not found; "):
        flashing(BOARD).choose("rp2350", None, Selection())
    fake_tool(bin, "openocd")
    assert flashing(BOARD).choose("rp2350", None, Selection()).name == "openocd"
    fake_tool(bin, "picotool")
    assert flashing(BOARD).choose("rp2350", None, Selection()).name == "picotool"
    assert flashing(BOARD).choose("rp2350", "pyocd", Selection()).name == "pyocd"
