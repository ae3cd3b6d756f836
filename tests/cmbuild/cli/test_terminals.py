"""Readers that cannot take every character, and characters that a terminal must not get."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest
from harness.commands import NETWORK, Commands
from harness.terminal import in_terminal

from cmbuild.cli.root import cli

ROOT = Path(__file__).parents[3]
ASCII = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("words", [("run", NETWORK, "--board", "native"), ("boards",), ("doctor",)])
def test_output_that_is_not_utf8(cmbuild: Commands, words) -> None:
    done = replace(cmbuild, environment=ASCII)(*words)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.isascii()
    if words[0] == "run" and words[1] is NETWORK:
        assert "  + verified: 1 of 1 sample" in done.stdout


def test_nothing_but_our_own_lines_of_inputs_that_numpy_warns_of(cmbuild: Commands) -> None:
    odd = np.resize(np.float32([np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-45]), (1, 3, 6, 5))
    np.save(cmbuild.folder / "odd.npy", odd)
    done = cmbuild("run", NETWORK, "--board", "native", "--input", "odd.npy")
    assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.parametrize("verb", cli.list_commands(click.Context(cli)))
def test_help_needs_no_stand_ins(verb: str) -> None:
    """click writes UTF-8 where it believes that a locale is wrong."""
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    assert command.get_help(click.Context(command)).isascii()


def test_json_that_is_not_utf8(cmbuild: Commands) -> None:
    words = ("boards", "--json")
    there = replace(cmbuild, environment=ASCII)(*words)
    assert there.stdout.isascii()
    assert there.document == cmbuild(*words).document


def test_no_colour_is_no_style(cmbuild: Commands) -> None:
    words = ("run", NETWORK, "--board", "native")
    assert "\x1b[32m" in in_terminal(cmbuild, *words)
    plain = in_terminal(replace(cmbuild, environment={"NO_COLOR": "1"}), *words)
    assert "verified" in plain
    assert re.search(r"\x1b\[[0-9;]*m", plain) is None


@pytest.fixture
def painted(cmbuild: Commands) -> Commands:
    """A project whose board's title and model's name command the terminal."""
    board = cmbuild.folder / "boards" / "painted"
    shutil.copytree(ROOT / "boards" / "native", board)
    descriptor = board / "board.toml"
    lines = descriptor.read_text().splitlines()
    lines = [
        r'title = "\u001b[31mred\u0007"' if each.startswith("title") else each for each in lines
    ]
    descriptor.write_text("\n".join(lines))
    shutil.copy(NETWORK, cmbuild.folder / "\x1b[2Jnet.pte")
    return cmbuild


@pytest.mark.parametrize(
    "words",
    [
        ("boards",),
        ("boards", "painted"),
        ("run", "\x1b[2Jnet.pte", "--board", "painted"),
        ("run", "\x1b[2Jno.pte", "--board", "painted"),
        ("run", "\x1b[2Jnet.pte", "--board", "\x1b]0;x\x07"),
        ("\x1b[2J",),
    ],
)
def test_escapes_do_not_reach_a_pipe(painted: Commands, words) -> None:
    done = painted(*words)
    assert not {"\x1b", "\x07"} & set(done.stdout + done.stderr)


def test_escapes_do_not_reach_a_terminal(painted: Commands) -> None:
    output = in_terminal(painted, "run", "\x1b[2Jnet.pte", "--board", "painted", "--verbose")
    assert "net.pte" in output
    assert "\x1b[2Jnet" not in output
