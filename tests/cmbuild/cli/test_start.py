"""The script that pip installs as `cmbuild` holds Ctrl-C back until Python handles it."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cmbuild import cli
from cmbuild.cli import interruption

SCRIPT = Path(cli.__file__).with_name("start.sh")

PYTHON = f"""#!{sys.executable}
import json, signal, sys
print(json.dumps([sys.argv[1:], [*signal.pthread_sigmask(signal.SIG_BLOCK, [])]]))
sys.exit(7)
"""

WORDS = ["run", "a model.py", "--name", "", "*"]


def executable(file: Path, text: str) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """The script as it is installed, beside a stand-in for what pip makes of the entry point."""
    place = tmp_path / "an environment"
    executable(place / "cmbuild-python", PYTHON)
    return Path(shutil.copy(SCRIPT, place / "cmbuild"))


def start(
    command: str | Path, *words: str, path: Path | None = None, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs the command with a folder in front of the system's programs."""
    programs = "/usr/bin:/bin" if path is None else f"{path}:/usr/bin:/bin"
    return subprocess.run(
        [command, *words],
        env={"PATH": programs},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_python_starts_with_interrupts_held_back(command: Path) -> None:
    done = start(command, *WORDS)
    assert (done.returncode, done.stderr) == (7, "")
    assert json.loads(done.stdout) == [WORDS, [signal.SIGINT]]


def test_it_is_found_through_links_and_path(command: Path, tmp_path: Path) -> None:
    link = tmp_path / "links" / "cmbuild"
    link.parent.mkdir()
    link.symlink_to(Path("..") / command.parent.name / command.name)
    expected = [WORDS, [signal.SIGINT]]
    assert json.loads(start(link, *WORDS).stdout) == expected
    words = ["sh", "-c", 'cmbuild "$@"', "sh", *WORDS]
    assert json.loads(start(*words, path=command.parent).stdout) == expected
    words = ["sh", "cmbuild", *WORDS]
    assert json.loads(start(*words, folder=command.parent).stdout) == expected


def test_an_env_that_cannot_block_signals_is_left_out(command: Path, tmp_path: Path) -> None:
    executable(tmp_path / "old" / "env", "#!/bin/sh\necho usage: env NAME=VALUE >&2\nexit 1\n")
    done = start(command, *WORDS, path=tmp_path / "old")
    assert (done.returncode, done.stderr) == (7, "")
    assert json.loads(done.stdout) == [WORDS, []]


@pytest.mark.parametrize("is_json", [False, True])
def test_an_interrupt_of_the_script_itself(command: Path, tmp_path: Path, is_json: bool) -> None:
    executable(tmp_path / "early" / "env", "#!/bin/sh\nkill -INT $PPID\nexec /usr/bin/env --help\n")
    words = ["run", "mv2", *(["--json"] if is_json else [])]
    done = start(command, *words, path=tmp_path / "early")
    assert (done.returncode, done.stderr.encode()) == (interruption.STATUS, interruption.LINE)
    assert done.stdout.encode() == (interruption.DOCUMENT if is_json else b"")


def test_what_a_command_starts_can_be_interrupted() -> None:
    """No child inherits what was blocked."""
    code = (
        "import signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
        "sys.argv = ['cmbuild', '--version']\n"
        "from cmbuild.cli import main\n"
        "main()\n"
        "print(signal.pthread_sigmask(signal.SIG_BLOCK, []))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
