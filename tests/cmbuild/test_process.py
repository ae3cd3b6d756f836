from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from harness.processes import wait_until_over

from cmbuild import watchdog
from cmbuild.errors import Interrupted, MissingTool, NoSpace, ProcessFailed, TimedOut
from cmbuild.process import Processes


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def written(path: Path) -> str:
    """The content of a file that a child is about to write."""
    while not path.exists() or not path.read_text():
        time.sleep(0.01)
    return path.read_text()


def test_output_of_both_streams_is_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "a folder" / "log.txt"
    code = "import os, sys; print('out', flush=True); print(os.environ['WORD'], file=sys.stderr)"
    completed = Processes().run(python(code), log=log, timeout=60, env={"WORD": "err"})
    assert (completed.status, completed.output) == (0, "out\nerr\n")
    assert log.read_text() == "out\nerr\n"


def test_no_child_is_made_to_write_in_colour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Jupyter: CMake would colour the flags that are read from its output."""
    for name in ("CLICOLOR_FORCE", "FORCE_COLOR", "KEPT"):
        monkeypatch.setenv(name, "1")
    code = "import os; print(sorted({'CLICOLOR_FORCE', 'FORCE_COLOR', 'KEPT'} & os.environ.keys()))"
    completed = Processes().run(python(code), log=tmp_path / "log", timeout=60)
    assert completed.output == "['KEPT']\n"


def test_failure_quotes_the_line_that_matters(tmp_path: Path) -> None:
    lines = ["x.c:3: error: no such thing", "2 more", "error: it was not made"]
    code = f"import sys; print(*{lines}, sep='\\n'); sys.exit(7)"
    with pytest.raises(ProcessFailed) as caught:
        Processes().run(python(code), log=tmp_path / "log", timeout=60, name="gcc")
    assert str(caught.value) == "gcc failed with status 7: x.c:3: error: no such thing"
    assert caught.value.hint == f"the full output is in {tmp_path / 'log'}"


def test_signal_is_named(tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    completed = Processes().run(python(code), log=tmp_path / "log", timeout=60, check=False)
    assert completed.outcome == "was killed by SIGSEGV"


def test_missing_program_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(MissingTool) as caught:
        Processes().run(
            ["no-such-tool"], log=tmp_path / "log", timeout=1, install="apt-get install it"
        )
    assert (str(caught.value), caught.value.hint) == (
        "no-such-tool not found",
        "apt-get install it",
    )


def test_time_limit_ends_grandchildren_that_ignore_sigterm(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = (
        "import os, time; from signal import *\n"
        "child = os.fork(); signal(SIGTERM, SIG_IGN)\n"
        f"if child: open({str(pid)!r}, 'w').write(str(child))\n"
        "time.sleep(600)"
    )
    with pytest.raises(TimedOut) as caught:
        Processes().run(python(code), log=tmp_path / "log", timeout=1, name="QEMU")
    assert str(caught.value) == "QEMU did not end within 1 s and was stopped"
    wait_until_over(int(pid.read_text()))


def test_sigkill_takes_the_child_with_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    child = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    parent = (
        "import sys; from pathlib import Path; from cmbuild.process import Processes\n"
        f"Processes().run([sys.executable, '-c', {child!r}], "
        f"log=Path({str(tmp_path / 'log')!r}), timeout=None)"
    )
    running = subprocess.Popen(python(parent))
    number = int(written(pid))
    running.kill()
    running.wait()
    wait_until_over(number)


def test_endless_output_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "LOG_LIMIT", 1 << 20)
    with pytest.raises(ProcessFailed, match="printed more than 1 MiB"):
        Processes().run(python("while True: print('x' * 999)"), log=tmp_path / "log", timeout=60)


def test_end_stops_what_runs_in_other_threads_and_lets_nothing_start(tmp_path: Path) -> None:
    processes, pid, errors = Processes(), tmp_path / "pid", []
    code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"

    def work() -> None:
        try:
            processes.run(python(code), log=tmp_path / "log", timeout=None)
        except Interrupted as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    child = int(written(pid))
    processes.end()
    thread.join()
    assert len(errors) == 1
    wait_until_over(child)
    with pytest.raises(Interrupted):
        processes.run(python(""), log=tmp_path / "log", timeout=None)


def test_ctrl_c_stops_the_child(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"

    def interrupt() -> None:
        written(pid)
        os.kill(os.getpid(), 2)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        Processes().run(python(code), log=tmp_path / "log", timeout=None)
    thread.join()
    wait_until_over(int(pid.read_text()))


def test_commands_are_echoed_as_a_shell_takes_them(tmp_path: Path) -> None:
    commands: list[str] = []
    Processes(echo=commands.append).run(
        ["echo", "two words"], log=tmp_path / "log", timeout=60, cwd=tmp_path
    )
    assert commands == [f"cd {tmp_path} && echo 'two words'"]


def test_listener_gets_lines_as_they_come_and_the_log_the_rest(tmp_path: Path) -> None:
    go, lines = tmp_path / "go", []
    code = (
        "import os, sys, time; print('first', flush=True)\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
        "print('second'); print('noise', file=sys.stderr)"
    )

    def listen(line: str) -> None:
        lines.append(line)
        go.touch()

    completed = Processes().run(python(code), log=tmp_path / "log", timeout=60, listener=listen)
    assert lines == ["first", "second"]
    assert completed.output == "noise\n"


def test_time_limit_holds_while_listening(tmp_path: Path) -> None:
    code = "import time; time.sleep(600)"
    with pytest.raises(TimedOut):
        Processes().run(python(code), log=tmp_path / "log", timeout=1, listener=print)


def test_a_tool_that_says_that_the_disk_is_full_is_believed(tmp_path: Path) -> None:
    code = "import sys; sys.exit('cc1: fatal error: x.s: No space left on device')"
    with pytest.raises(NoSpace, match="no space left on the disk that holds"):
        Processes().run(python(code), log=tmp_path / "log", timeout=60)


GRANDPARENT = """
import sys
from pathlib import Path
from cmbuild.process import Processes

left = ["sh", "-c", "sleep 600 & echo $! > grandchild; wait"]
Processes().run(left, log=Path("log"), timeout=300)
"""


def test_no_grandchild_outlives_a_killed_command(tmp_path: Path) -> None:
    """Of a build that is killed, ninja's compilers would go on."""
    command = subprocess.Popen([sys.executable, "-c", GRANDPARENT], cwd=tmp_path)
    number = tmp_path / "grandchild"
    while not (number.exists() and number.read_text().strip()):
        time.sleep(0.01)
    command.kill()
    command.wait()
    for _ in range(1000):
        if is_gone(int(number.read_text())):
            return
        time.sleep(0.01)
    raise AssertionError("the grandchild is still there")


def test_what_a_command_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    left = ["sh", "-c", "sleep 600 & echo $! > grandchild"]
    Processes().run(left, log=tmp_path / "log", timeout=60, cwd=tmp_path)
    for _ in range(1000):
        if is_gone(int((tmp_path / "grandchild").read_text())):
            return
        time.sleep(0.01)
    raise AssertionError("what it started is still there")


def is_gone(number: int) -> bool:
    """Whether no process has that number, or one that only waits to be asked how it ended."""
    status = Path(f"/proc/{number}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
