"""Ctrl-C while a command still imports its modules."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness.commands import NETWORK

ROOT = Path(__file__).parents[3]

GATE = """
import os, signal, sys

class Gate:
    def __init__(self):
        self.left = {number}

    def find_spec(self, name, path, target=None):
        self.left -= 1
        if self.left == 0 or name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Gate())
"""

ENTRY = """
sys.argv[1:] = {words!r}
from cmbuild.cli import main
sys.exit(main())
"""

RUN = ["run", str(NETWORK), "--board", "native"]


def interrupted(
    words: list[str], module: str = "", number: int = 0, entry: str = ENTRY
) -> subprocess.CompletedProcess[str]:
    """A command that gets SIGINT as it imports a module, or one for the so manieth time."""
    script = GATE.format(module=module, number=number) + entry.format(words=words)
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT
    )


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("cmbuild.cli.root", ["boards"]),
        ("click", ["boards"]),
        ("cmbuild.cli.verbs.boards", ["boards"]),
        ("cmbuild.boards.registry", ["boards"]),
        ("pydantic", ["boards"]),
        ("cmbuild.cli.verbs.run", ["run", "--help"]),
        ("cmbuild.tasks.run", RUN),
        ("doit.doit_cmd", RUN),
    ],
)
def test_an_interrupt_is_130_and_one_line(module: str, words: list[str]) -> None:
    done = interrupted(words, module)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


@pytest.mark.parametrize("number", [3, 4, 5, 6, 8, 20, 60, 150, 300])
def test_an_interrupt_at_any_import(number: int) -> None:
    """The first two are those of this package."""
    done = interrupted(RUN, number=number)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


SIGN = """
import sys
from cmbuild.cli import main
print("ready", flush=True)
sys.exit(main())
"""


def test_interrupts_at_any_time_after_the_first_instruction(tmp_path: Path) -> None:
    """On a busy machine: six commands start at once."""
    chance = random.Random(29)
    for _ in range(5):
        commands = [
            subprocess.Popen(
                [sys.executable, "-c", SIGN, *RUN, "--build-dir", tmp_path / str(number)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
            for number in range(6)
        ]
        for command in commands:
            assert command.stdout is not None and command.stdout.readline() == "ready\n"
        for command in commands:
            time.sleep(chance.random() * 0.2 / len(commands))
            command.send_signal(signal.SIGINT)
        ends = [command.communicate() for command in commands]
        assert [command.returncode for command in commands] == [130] * 6, ends
        assert all("Traceback" not in err and "error: interrupted\n" in err for _, err in ends), (
            ends
        )


def test_an_interrupt_under_json_is_an_object_too() -> None:
    done = interrupted([*RUN, "--json"], "click")
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")
    assert json.loads(done.stdout) == {"error": "interrupted", "hint": None, "exit_code": 130}


def test_an_interrupt_of_the_module() -> None:
    entry = "sys.argv[1:] = {words!r}\nimport runpy\nrunpy.run_module('cmbuild', None, '__main__')"
    done = interrupted(RUN, "cmbuild.cli.root", entry=entry)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


def test_an_interrupt_of_plain_doit() -> None:
    entry = "sys.argv[1:] = {words!r}\nfrom doit.__main__ import main\nsys.exit(main())"
    words = [f"model={NETWORK}", "board=native"]
    done = interrupted(words, "cmbuild.tasks.dodo", entry=entry)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")


def test_an_interrupt_once_the_status_is_certain_changes_nothing() -> None:
    entry = ENTRY.replace(
        "sys.exit(main())", "status = main()\nos.kill(os.getpid(), signal.SIGINT)\nsys.exit(status)"
    )
    done = interrupted(["completion", "bash"], entry=entry)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_was_blocked_until_the_handler_is_there_is_not_lost() -> None:
    entry = (
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
        "os.kill(os.getpid(), signal.SIGINT)\n" + ENTRY
    )
    done = interrupted(["boards"], entry=entry)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")
