"""Ctrl-C while a command still imports its modules."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import os, signal, sys

class Gate:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Gate())
from cmbuild.cli import main
sys.exit(main({words!r}))
"""


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("cmbuild.cli.root", ["boards"]),
        ("click", ["boards"]),
        ("cmbuild.cli.verbs.boards", ["boards"]),
        ("cmbuild.boards.registry", ["boards"]),
        ("pydantic", ["boards"]),
        ("cmbuild.cli.verbs.run", ["run", "--help"]),
        ("cmbuild.tasks.run", ["run", "x.pte", "--board", "native"]),
        ("doit.doit_cmd", ["run", "x.pte", "--board", "native"]),
    ],
)
def test_an_interrupt_is_130_and_one_line(module: str, words: list[str]) -> None:
    script = SCRIPT.format(module=module, words=words)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    # click ends the line that the terminal shows ^C on.
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.lstrip() == "error: interrupted\n"
