"""cmbuild debug, with QEMU's real gdb server; this side of it is ours, in gdb's place."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from harness.commands import NETWORK, Commands
from harness.flashing import path_without_programs
from harness.gdb import Remote, is_listening

from cmbuild.image.elf import Symbols

RUN = (NETWORK, "--board", "corstone300")

FAKE_GDB = f"""\
#!{sys.executable}
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from harness.flashing import path_without_programs
from harness.gdb import Remote
from cmbuild.image.elf import Symbols
from pathlib import Path

image, option, command = sys.argv[1:]
assert option == "-ex" and command.startswith("target extended-remote localhost:"), sys.argv
remote = Remote(int(command.rpartition(":")[2]))
main = next(f[0] for f in Symbols.read(Path(image)).functions if f[2] == "cm_main")
assert remote.run_to(main).startswith("T05")
print("stopped in cm_main:", remote.pc == main, flush=True)
"""


@pytest.fixture
def waiting(cmbuild: Commands):
    """Starts cmbuild debug without a gdb; ends it whatever happens."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> tuple[subprocess.Popen[str], int]:
        process = cmbuild.start("debug", *RUN, "--no-gdb", *words)
        started.append(process)
        assert process.stdout is not None
        for line in process.stdout:
            if match := re.search(r"waits at localhost:(\d+)", line):
                return process, int(match[1])
        raise AssertionError(process.communicate())

    yield start
    for process in started:
        process.kill()
        process.communicate()


def gone(port: int) -> bool:
    """Whether nobody listens any more; SIGKILL of a parent takes a moment to reach a child."""
    for _ in range(100):
        if not is_listening(port):
            return True
        time.sleep(0.05)
    return False


def image(cmbuild: Commands) -> Path:
    return cmbuild.folder / "build" / "network" / "corstone300" / "runner" / "runner.elf"


def test_gdb_is_attached_where_there_is_one(cmbuild: Commands, tmp_path: Path) -> None:
    gdb = tmp_path / "bin" / "arm-none-eabi-gdb"
    gdb.parent.mkdir()
    gdb.write_text(FAKE_GDB)
    gdb.chmod(0o755)
    with_gdb = replace(cmbuild, environment={"PATH": f"{gdb.parent}:{os.environ['PATH']}"})
    result = with_gdb("debug", *RUN, "--gdb", "arm-none-eabi-gdb")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "stopped in cm_main: True" in result.stdout
    assert f'"executable": "{image(cmbuild)}",' in result.stdout
    port = re.search(r'"gdbTarget": "localhost:(\d+)",', result.stdout)
    assert port is not None
    assert not is_listening(int(port[1]))


def test_another_debugger_may_connect(cmbuild: Commands, waiting) -> None:
    process, port = waiting()
    functions = Symbols.read(image(cmbuild)).functions
    main = next(start for start, _, name in functions if name == "cm_main")
    with Remote(port) as remote:
        assert remote.run_to(main).startswith("T05")
        assert remote.pc == main
        remote.kill()
    # communicate() would not see lines that came along with the one waited for.
    assert process.stdout is not None and process.stderr is not None
    output, error = process.stdout.read(), process.stderr.read()
    assert (process.wait(), error) == (0, "")
    assert "gdb-multiarch" in output
    assert "apt-get install gdb-multiarch" in output
    assert not is_listening(port)


def test_another_build_waits_until_the_debugger_has_ended(cmbuild: Commands, waiting) -> None:
    """It would replace the image under it."""
    process, port = waiting()
    with cmbuild.start("build", *RUN) as build:
        assert build.stdout is not None
        for line in build.stdout:
            if "another build is running" in line:
                break
        else:
            raise AssertionError(build.communicate())
        assert build.poll() is None
        with Remote(port) as remote:
            remote.kill()
        process.communicate()
        assert build.wait(60) == 0, build.communicate()


def test_the_image_has_its_samples_and_may_run_to_its_end(cmbuild: Commands, waiting) -> None:
    process, port = waiting()
    with Remote(port) as remote:
        assert remote.ask("c").startswith(("W", "X"))
    process.communicate()
    assert process.returncode == 0
    log = image(cmbuild).parents[1] / "logs" / "debug.txt"
    assert log.read_text().splitlines()[-1] == "cmrt end 0"


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_no_simulator_is_left_behind(waiting, number: signal.Signals, status: int) -> None:
    process, port = waiting()
    with Remote(port):
        process.send_signal(number)
        process.communicate()
        assert process.returncode == status
    assert gone(port)


def test_what_cannot_be_debugged(cmbuild: Commands) -> None:
    result = cmbuild("debug", NETWORK, "--board", "native")
    assert (result.exit_code, result.stderr.splitlines()[0]) == (
        2,
        "error: native does not have a gdb server",
    )
    result = cmbuild("debug", *RUN, "--gdb", "no-such-gdb")
    assert (result.exit_code, result.stderr.splitlines()[0]) == (3, "error: no-such-gdb not found")


def test_a_port_that_is_taken(cmbuild: Commands, waiting) -> None:
    _, port = waiting()
    other = cmbuild("debug", *RUN, "--no-gdb", "--gdb-port", str(port), "--isa", "scalar")
    assert other.exit_code == 1
    assert "in use" in other.stderr.splitlines()[0]


@pytest.mark.parametrize("name", ["pyocd", "openocd", "probe-rs"])
def test_a_probe_waits_for_gdb_which_loads_the_image(
    name: str, cmbuild: Commands, tmp_path: Path
) -> None:
    """Programs that note their arguments stand in for the probe's and for gdb."""
    bin, said = tmp_path / "bin", tmp_path / "said"
    bin.mkdir()
    for program in (name, "gdb-multiarch"):
        tool = bin / program
        end = "exec sleep 600" if program == name else "sleep 0.3"
        tool.write_text(f'#!/bin/sh\necho {program} "$@" >> {said}\n{end}\n')
        tool.chmod(0o755)
    fake = replace(cmbuild, environment={"PATH": f"{bin}:{os.environ['PATH']}"})
    words = ("--on", "hardware", "--method", name, "--probe", "E66", "--gdb-port", "3456")
    result = fake("debug", NETWORK, "--board", "rp2350", *words, "--gdb", "gdb-multiarch")
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"rp2350 through {name} waits at localhost:3456" in result.stdout
    lines = said.read_text().splitlines()
    assert len(lines) == 2
    for words in (name, "3456", "E66"):
        assert any(line.startswith(name) and words in line for line in lines)
    image = cmbuild.folder / "build" / "network" / "rp2350" / "runner" / "runner.elf"
    assert f"gdb-multiarch {image} -ex target extended-remote localhost:3456 -ex load" in lines


def test_a_probe_that_is_not_there_says_how_to_get_one(cmbuild: Commands, tmp_path: Path) -> None:
    path = path_without_programs(tmp_path / "bin")
    without = replace(cmbuild, environment={"PATH": path})
    result = without("debug", NETWORK, "--board", "rp2350", "--on", "hardware")
    first, second = result.stderr.splitlines()
    assert result.exit_code == 3
    assert first.startswith("error: no flash method is available for rp2350: ")
    assert f"{sys.executable} -m pip install pyocd" in second
    result = cmbuild("debug", *RUN, "--on", "hardware")
    assert result.exit_code == 2
