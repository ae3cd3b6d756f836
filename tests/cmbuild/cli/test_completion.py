"""Completion, in each shell itself."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness.commands import Commands

BASH = """
source {script}
COMP_WORDS=({words} {last!r})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_{name}_completion ${{COMP_WORDS[0]}}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""

FISH = """
source {script}
complete -C '{words} {last}'
"""

# Asks zsh's own completion, in a terminal of its own, for the line that it makes of one Tab.
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; autoload -U compinit; compinit -u -D; source {script}; print re""ady'
zpty -r shell seen '*ready*'
zpty -w -n shell $'{words} {last}\t'
zpty -r shell seen '*{wanted}*' && print -r -- "{wanted}"
"""

SHELLS = {"bash": BASH, "fish": FISH, "zsh": ZSH}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with cmbuild on PATH, and a checkout's wrapper in it."""
    for name in ("bin/cmbuild", "cmbuildw"):
        program = tmp_path / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cmbuild "$@"\n')
        program.chmod(0o755)
    return tmp_path


def test_bash_offers_models_of_the_zoo_and_files(cmbuild: Commands, place: Path) -> None:
    (place / "mv2_own.py").touch()
    script = place / "completion.bash"
    script.write_text(cmbuild("completion", "bash").stdout)
    text = BASH.format(script=script, words="cmbuild run", last="mv2", name="cmbuild")
    environment = {**cmbuild.variables, "PATH": f"{place / 'bin'}:/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "-c", text], cwd=place, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["mv2", "mv2_own.py"]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "case",
    [
        ("./cmbuildw run --toolchain", "zi", "zig"),
        ("cmbuild package --target", "cortex-m0p", "cortex-m0plus"),
        ("cmbuild run", "resnet8_l", "resnet8_large"),
    ],
    ids=lambda case: case[2],
)
def test_shells_complete_values(
    cmbuild: Commands, place: Path, shell: str, case: tuple[str, str, str]
) -> None:
    words, last, wanted = case
    program = shutil.which(shell)
    assert program, f"{shell} is not installed"
    script = place / f"completion.{shell}"
    script.write_text(cmbuild("completion", shell).stdout)
    name = words.partition(" ")[0].removeprefix("./")
    text = SHELLS[shell].format(script=script, words=words, last=last, name=name, wanted=wanted)
    (place / "ask").write_text(text)
    path = f"{place / 'bin'}:/usr/bin:/bin"
    done = subprocess.run(
        [program, *(["-f"] if shell == "zsh" else []), place / "ask"],
        capture_output=True,
        text=True,
        cwd=place,
        timeout=120,
        env={**cmbuild.variables, "PATH": path, "HOME": str(place), "TERM": "xterm"},
        check=False,
    )
    assert done.stdout.split() == [wanted], done.stderr
