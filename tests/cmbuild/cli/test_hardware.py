"""`run --on hardware`, `flash` with its greeting, and `monitor`: with a model of the chip, and with
boards that the tests play.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness.commands import NETWORK, Commands
from harness.flashing import BootRom, make_volume
from harness.line import Board, Terminal, greeting, intact, joined

from cmbuild.catalog import find_board

RUN = ("run", NETWORK, "--board", "rp2350", "--on", "hardware")
TESTS = Path(__file__).parents[2]


@contextmanager
def pico(folder: Path) -> Iterator[tuple[Path, str]]:
    """A board in BOOTSEL mode: its volume, and the port where it talks once it is flashed."""
    volume = make_volume(folder / "RP2350")
    device, host = Terminal(), Terminal()
    chips: list[subprocess.Popen[bytes]] = []
    path = f"{TESTS}{os.pathsep}{os.pathsep.join(sys.path)}"

    def boot() -> None:
        rom.join()
        if rom.flashed is not None:
            file = folder / "flashed.uf2"
            file.write_bytes(rom.flashed)
            words = [sys.executable, "-m", "harness.rp2350", file, device.port]
            chips.append(subprocess.Popen(words, env={**os.environ, "PYTHONPATH": path}))

    with joined(device, host, intact, intact), BootRom(volume) as rom:
        power = threading.Thread(target=boot)
        power.start()
        try:
            yield volume, host.port
        finally:
            rom.end()
            power.join()
            for chip in chips:
                chip.kill()
                chip.wait()
    device.close()
    host.close()


def test_a_board_is_flashed_once_and_runs(cmbuild: Commands, tmp_path: Path) -> None:
    with pico(tmp_path) as (volume, port):
        place = ("--port", port, "--volume", volume)
        flashed = cmbuild("flash", *RUN[1:4], *place, "--json")
        assert flashed.exit_code == 0, flashed.stderr
        assert flashed.document["confirmed"] == port
        result = cmbuild(*RUN, *place, "-n", "2", "--json")
    assert result.exit_code == 0, result.stderr
    document = result.document
    assert (document["verified"], document["rule"], document["samples"]) == (True, "exact", 2)
    assert (document["launcher"], document["machine"]) == ("serial", f"hardware at {port}")
    assert document["instructions"]["unit"] == "cycles"
    estimate = document["cycles"]
    assert "model of the Cortex-M33" in estimate["provenance"]
    assert len(estimate["per_op"]) == len(document["instructions"]["per_op"])
    assert all(layer["cycles"] is not None for layer in document["layers"])
    assert document["instructions"]["total"] > 0
    assert "on rp2350 already" in result.stderr
    log = Path(document["artifacts"]["log"]).read_text()
    assert f"static {flashed.document['identity']}" in log


def test_a_board_that_runs_nothing_is_flashed_first(cmbuild: Commands, tmp_path: Path) -> None:
    with pico(tmp_path) as (volume, port):
        result = cmbuild(*RUN, "--port", port, "--volume", volume)
    assert result.exit_code == 0, result.stderr
    assert "by uf2" in result.stdout
    assert "✓ verified: 1 of 1 sample" in result.stdout
    assert "MAC/cycle" in result.stdout


Script = Callable[[Board], None]


def unplug(board: Board) -> None:
    board.pause(1.0)
    board.unplug()


def another(board: Board) -> None:
    board.repeat(greeting("fedcba9876543210fedcba9876543210"))


@pytest.mark.parametrize(
    ("script", "status", "message"),
    [
        (another, 1, "error: the board at PORT runs another image: "),
        (unplug, 1, "error: PORT was lost: "),
    ],
)
def test_flashing_is_confirmed_by_the_greeting(
    cmbuild: Commands, tmp_path: Path, script: Script, status: int, message: str
) -> None:
    volume = make_volume(tmp_path / "RP2350")

    def start(board: Board) -> None:
        rom.join()
        script(board)

    with BootRom(volume) as rom, Board(start) as board:
        result = cmbuild("flash", *RUN[1:4], "--volume", volume, "--port", board.port)
    first = result.stderr.splitlines()[0]
    assert (result.exit_code, result.stderr.count("error: ")) == (status, 1), result.stderr
    assert first.startswith(message.replace("PORT", board.port))


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("--port", "/dev/ttyNONE"), 3, "error: cannot open /dev/ttyNONE: no such file or"),
        (("--board", "corstone300"), 2, "error: firmware cannot be flashed onto corstone300"),
    ],
)
def test_no_hardware(cmbuild: Commands, words: tuple[str, ...], status: int, message: str) -> None:
    result = cmbuild(*RUN, *words)
    assert (result.exit_code, result.stderr.splitlines()[0][: len(message)]) == (status, message)


@pytest.mark.parametrize("is_named", [True, False])
def test_monitor_shows_what_a_board_says(cmbuild: Commands, is_named: bool) -> None:
    """The board that is named, or the project's own."""
    folder = find_board("rp2350").folder
    if not is_named:
        shutil.copytree(folder, cmbuild.folder / "boards" / "mine")
        (cmbuild.folder / "cmbuild.toml").write_text('[project]\nboard = "mine"\n')

    def script(board: Board) -> None:
        while True:
            board.write(b"hello\r\n" + greeting("0123"))
            board.pause(0.1)

    with Board(script) as board:
        named = ("--board", "rp2350") if is_named else ()
        result = cmbuild("monitor", *named, "--port", board.port, "--timeout", "1")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[:2] == ["hello", "-- greeting: cmrt runner 2 static 0123"]
    remark = "" if is_named else "  board     mine (of cmbuild.toml)\n"
    assert result.stderr == f"{remark}-- {board.port} at 921600\n"


def test_monitor_of_a_board_that_is_unplugged(cmbuild: Commands) -> None:
    def script(board: Board) -> None:
        for _ in range(20):
            board.write(b"hello\n")
            board.pause(0.1)
        board.unplug()

    with Board(script) as board:
        result = cmbuild("monitor", "--board", "rp2350", "--port", board.port)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[1].startswith(f"error: {board.port} was lost: ")
