"""Runs that end badly: simulators that hang or say nothing, signals, kills, folders and tools that
are not as they should be. Each is one clear line, and the next run is as if nothing had been.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from harness.commands import NETWORK, Commands
from harness.doctored import Doctored
from harness.processes import wait_until_over

from cmbuild.cache.store import STAMP, Entry
from cmbuild.image.record import ImageRecord

RUN = ("run", NETWORK, "--board", "corstone300")
HANG = 'echo $$ > "$FAKE_PID"; exec sleep 600'

Fake = Callable[[str], Commands]


def pid_of_fake(commands: Commands, process: subprocess.Popen[str] | None = None) -> int:
    """The process that HANG became, once it runs; `process` is what will start it."""
    file = Path(commands.environment["FAKE_PID"])
    while not file.exists() or not file.read_text().strip():
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.02)
    pid = int(file.read_text())
    file.unlink()
    return pid


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 0", "QEMU mps3-an547 printed nothing and ended"),
        ("echo qemu: fatal: Lockup >&2; kill -ABRT $$", "before the image ended"),
        ("echo hello; exit 0", "before the image ended: hello"),
        ("echo cmrt error out of paper; echo cmrt end 1", "QEMU mps3-an547: out of paper"),
        ("echo cmrt end 0", "ran an image other than the one built"),
    ],
)
def test_simulator_that_proves_nothing(fake_qemu: Fake, script: str, message: str) -> None:
    result = fake_qemu(script)(*RUN)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert message in result.stderr.splitlines()[0]
    assert "verified" not in result.stdout


def test_image_without_a_kernel_is_not_started(fake_qemu: Fake, cmbuild: Commands) -> None:
    assert cmbuild("build", *RUN[1:]).exit_code == 0
    image = cmbuild.folder / "build" / "network" / "corstone300" / "runner" / "runner.elf"
    made_from = (image.parent / STAMP).read_text().partition("\n")[0]
    with Entry(image.parent).replace(made_from) as folder:
        shutil.copytree(image.parent, folder, dirs_exist_ok=True)
        renamed = Doctored(image).rename("cm_linear_vector", "cm_linear_vektor")
        renamed.save(folder / image.name)
        ImageRecord.of(folder / image.name).write(folder)
    commands = fake_qemu(HANG)
    result = commands(*RUN)
    assert (result.exit_code, result.stderr.splitlines()[0]) == (
        1,
        f"error: {image} has no cm_linear_vector, called by the program",
    )
    assert not Path(commands.environment["FAKE_PID"]).exists()


def test_simulator_that_hangs_is_stopped(fake_qemu: Fake) -> None:
    commands = fake_qemu(HANG)
    result = commands(*RUN, "--timeout", "1")
    log = commands.folder / "build" / "network" / "corstone300" / "logs" / "simulate.txt"
    assert (result.exit_code, result.stderr) == (
        1,
        "error: QEMU mps3-an547 did not end within 1 s and was stopped\n"
        f"  try: --timeout SECONDS sets a longer limit; its output is in {log}\n",
    )
    wait_until_over(pid_of_fake(commands))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run(fake_qemu: Fake, cmbuild: Commands, number: signal.Signals) -> None:
    commands = fake_qemu(HANG)
    process = commands.start(*RUN)
    pid = pid_of_fake(commands, process)
    process.send_signal(number)
    _, error = process.communicate()
    assert (process.returncode, error) == (130, "error: interrupted\n")
    wait_until_over(pid)
    assert cmbuild(*RUN).exit_code == 0


def test_interrupted_under_plain_doit(fake_qemu: Fake) -> None:
    commands = fake_qemu(HANG)
    root = Path(__file__).parents[3]
    for jobs in ((), ("-n", "2")):
        process = subprocess.Popen(
            commands.argv(
                *("run", "-f", root / "dodo.py", "-d", root, *jobs),
                *(f"model={NETWORK}", "board=corstone300", f"build_dir={commands.folder}"),
                program=("doit",),
            ),
            cwd=commands.folder,
            env=commands.variables,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        pid = pid_of_fake(commands, process)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate()
        assert (process.returncode, error) == (130, "error: interrupted\n")
        wait_until_over(pid)


def test_killed_run_is_safe_to_repeat(fake_qemu: Fake, cmbuild: Commands) -> None:
    commands = fake_qemu(HANG)
    process = commands.start(*RUN)
    pid = pid_of_fake(commands, process)
    process.kill()
    process.communicate()
    wait_until_over(pid)
    assert cmbuild(*RUN).exit_code == 0
    folder = cmbuild.folder / "build" / "network" / "corstone300"
    assert not list(folder.glob(".*.tmp"))


def test_second_build_in_a_folder_waits_and_says_so(fake_qemu: Fake, cmbuild: Commands) -> None:
    commands = fake_qemu(HANG)
    first = commands.start(*RUN)
    pid = pid_of_fake(commands, first)
    second = cmbuild.start(*RUN)
    assert second.stdout is not None
    folder = cmbuild.folder / "build" / "network" / "corstone300"
    assert second.stdout.readline() == f"  another build is running in {folder}; waiting for it\n"
    os.kill(pid, signal.SIGKILL)
    first.communicate()
    second.communicate()
    assert (first.returncode, second.returncode) == (1, 0)


@pytest.mark.parametrize(
    ("missing", "words", "hint"),
    [
        ("qemu-system-arm", (), "apt-get install qemu-system-arm"),
        (
            "arm-none-eabi-gcc",
            ("--toolchain", "gcc"),
            "apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi",
        ),
    ],
)
def test_missing_tool(
    cmbuild: Commands, tmp_path: Path, missing: str, words: tuple[str, ...], hint: str
) -> None:
    bin = tmp_path / "bin"
    bin.mkdir()
    for folder in cmbuild.variables["PATH"].split(":"):
        for tool in Path(folder).iterdir() if Path(folder).is_dir() else ():
            if tool.name != missing and not (bin / tool.name).is_symlink():
                (bin / tool.name).symlink_to(tool)
    result = replace(cmbuild, environment={"PATH": str(bin)})(*RUN, *words)
    first, second = result.stderr.splitlines()
    assert (result.exit_code, first) == (3, f"error: {missing} not found")
    assert result.stdout == "", "found out before any work"
    assert second.endswith(hint)


def test_build_folder_where_nobody_may_write(cmbuild: Commands) -> None:
    """/sys is a place where not even root can make a folder."""
    result = cmbuild(*RUN, "--build-dir", "/sys/build")
    first, second = result.stderr.splitlines()
    assert result.exit_code == 2
    assert first.startswith("error: cannot write /sys/build")
    assert second == (
        "  try: --build-dir sets the folder of builds, CMBUILD_CACHE that of exports and libraries"
    )


def test_nothing_is_written_into_the_checkout(cmbuild: Commands) -> None:
    root = Path(__file__).parents[3]
    places = ("boards", "cmbuild", "compiler", "runtime")

    def files() -> dict[Path, float]:
        return {
            path: path.stat().st_mtime
            for place in places
            for path in (root / place).rglob("*")
            if path.is_file() and path.suffix != ".pyc"
        }

    before = files()
    assert cmbuild(*RUN).exit_code == 0
    assert files() == before
