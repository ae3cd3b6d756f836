"""The command on a real tree of Zephyr: its Kconfig, its build, its kernel and shell in QEMU."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from harness.commands import Commands
from harness.zephyr import SAMPLES

TREE = os.environ.get("CMBUILD_ZEPHYR_TREE", "")
"""A workspace of west with zephyr/ and modules/hal/cmsis, of the revision that zephyr/west.yml
names: `west init -l zephyr` in it is enough."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not TREE, reason="$CMBUILD_ZEPHYR_TREE does not name a tree of Zephyr"),
]

BOARDS = {"mps2_an385": "mps2-an385", "mps2_an521": "mps2-an521", "mps3_an547": "mps3-an547"}
"""QEMU's machines, by Zephyr's names of the boards in 3.4."""

OVERLAY = SAMPLES / "mv2/boards/mps3_corstone300_an547.overlay"


@pytest.fixture
def west(cmbuild: Commands, tmp_path: Path) -> Commands:
    """cmbuild with the tree as its workspace, in a folder without spaces: Zephyr allows none."""
    environment = {**cmbuild.environment, "ZEPHYR_BASE": f"{TREE}/zephyr"}
    return replace(cmbuild, folder=tmp_path, environment=environment)


@pytest.mark.parametrize("board", BOARDS)
def test_hello_ends_well(board: str, west: Commands) -> None:
    done = west("zephyr", "run", "hello", "-b", board, "--json")
    assert done.exit_code == 0, done.stderr
    assert "1.00 + 2.00 = 3.10" in done.document["console"]


@pytest.mark.parametrize("board", BOARDS)
def test_digits_are_recognised_and_run_from_the_shell(board: str, west: Commands) -> None:
    done = west("zephyr", "run", "digits", "-b", board, "--json")
    assert done.exit_code == 0, done.stderr
    assert "verified: 100 of 100 equal to the reference" in done.document["console"]

    definitions = ("-DCONFIG_SHELL=y", "-DCONFIG_CMBUILD_SHELL=y")
    built = west("zephyr", "build", "digits", "-b", board, "--json", "--", *definitions)
    assert built.exit_code == 0, built.stderr
    image = west.folder / f"build/zephyr/digits-{board}/build/zephyr/zephyr.elf"
    answers = {
        "cmbuild info": "digits: 1 inputs, 1 outputs, 11 ops",
        "cmbuild run digits 3": "outputs equal the reference",
        "cmbuild run digits 100": "there are 100 test vectors",
    }
    talk(BOARDS[board], image, answers)


@pytest.mark.parametrize(
    ("board", "definition", "message"),
    [
        # It has the memory, though not as a region.
        (
            "mps3_an547",
            f"-DDTC_OVERLAY_FILE={OVERLAY}",
            "the devicetree's chosen cmbuild,arena, /sram@31000000, is not a memory region",
        ),
        ("mps2_an385", f"-DDTC_OVERLAY_FILE={OVERLAY}", "undefined node label"),
    ],
)
def test_what_does_not_configure_is_one_line(
    board: str, definition: str, message: str, west: Commands
) -> None:
    done = west("zephyr", "build", "hello", "-b", board, "--", definition)
    assert done.exit_code == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert message in line


def talk(machine: str, image: Path, answers: Mapping[str, str]) -> None:
    """Types commands into the shell of an image that has ended its run, and waits for answers."""
    words = ["qemu-system-arm", "-M", machine, "-nographic", "-monitor", "none"]
    words += ["-serial", "mon:stdio", "-kernel", str(image)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        try:
            said, end = "", time.monotonic() + 120
            for command, answer in {"": "uart:~$", **answers}.items():
                for letter in f"{command}\r":  # the shell's buffer of input is small
                    process.stdin.write(letter.encode())
                    process.stdin.flush()
                    time.sleep(0.02)
                while answer not in said:
                    assert time.monotonic() < end, said
                    time.sleep(0.05)
                    said += (process.stdout.read() or b"").decode(errors="replace")
        finally:
            process.kill()
