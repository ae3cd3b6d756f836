"""What counts as the proper end of a run, whatever prints it; scripts stand in for images."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from harness.toy_image import INTERFACE

from cmbuild.errors import ExitCode, TimedOut
from cmbuild.image.console import ConsoleRecord
from cmbuild.launchers.base import EndedEarly, LauncherMissing, Refused, Silent
from cmbuild.launchers.execution import VERSION, Incomplete, Request, execute
from cmbuild.launchers.simulators.native import Native
from cmbuild.launchers.simulators.qemu import Qemu
from cmbuild.process import Processes


def script(folder: Path, code: str) -> Path:
    """A program that does what an image would."""
    (folder / "image.py").write_text(f"import os, signal, sys, time\n{code}\n")
    image = folder / "image"
    image.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{folder}/image.py'\n")
    image.chmod(0o755)
    return image


def run(folder: Path, code: str, timeout: float = 60.0):
    image = script(folder, code)
    return Native().run(Processes(), image, folder, timeout=timeout, log=folder / "log")


def test_a_proper_end(tmp_path):
    result = run(tmp_path, "print('noise'); print('cmrt stack 1f 2000'); print('cmrt end 0')")
    assert result.records == (ConsoleRecord("stack", ("1f", "2000")), ConsoleRecord("end", ("0",)))
    assert result.records[0].number(0) == 31


def test_noise_after_the_end_is_no_harm(tmp_path):
    assert run(tmp_path, "print('cmrt end 0'); print('Info: simulation stopped')").records


def test_all_records_count_however_many(tmp_path):
    script = "print(*(f'cmrt sample {i:x} 0' for i in range(20000)), 'cmrt end 0', sep='\\n')"
    assert len(run(tmp_path, script).records) == 20001


@pytest.mark.parametrize(
    ("script", "error", "message"),
    [
        ("", Silent, "printed nothing and ended"),
        ("sys.exit(3)", Silent, "printed nothing and failed with status 3"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", Silent, "was killed by SIGSEGV"),
        ("print('hello')", EndedEarly, "this computer ended before .*: hello"),
        ("print('cmrt model 1')", EndedEarly, "its last record is 'model'"),
        ("print('cmrt end 0'); print('cmrt model 1')", EndedEarly, "its last record is 'model'"),
        ("print('cmrt end 2')", EndedEarly, "the image's status is 2"),
        ("print('cmrt end 0'); sys.exit(1)", EndedEarly, "failed with status 1"),
        ("print('cmrt end')", EndedEarly, "its last record is 'end'"),
        ("print('cmrt end zero')", EndedEarly, "its last record is 'end'"),
        ("print('cmrt error no input'); print('cmrt end 1')", Refused, "this computer: no input"),
        ("print('cmrt', end='')", EndedEarly, "cmrt"),
    ],
)
def test_what_is_no_proper_end(script, error, message, tmp_path):
    with pytest.raises(error, match=message) as caught:
        run(tmp_path, script)
    assert caught.value.exit_code is ExitCode.FAILED
    assert str(tmp_path / "log") in caught.value.hint


def test_a_hang_is_stopped_and_its_log_kept(tmp_path):
    with pytest.raises(TimedOut, match="this computer did not end within 1 s"):
        run(tmp_path, "print('cmrt end 0', flush=True); time.sleep(600)", timeout=1.0)
    assert (tmp_path / "log").read_text() == "cmrt end 0\n"


def test_a_missing_simulator_says_how_to_get_it(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LauncherMissing, match="qemu-system-arm not found") as error:
        Qemu("mps3-an547", 32_000_000).find()
    assert error.value.exit_code is ExitCode.MISSING
    assert "apt-get install qemu-system-arm" in error.value.hint


def test_ticks_become_instructions():
    assert Qemu("mps3-an547", 32_000_000).instructions(1024) == 1000
    assert Native().instructions(1024) is None


SAID = f"""\
cmrt runner {VERSION:x} static 0123456789abcdef
cmrt model 1 2 2 b0
cmrt step 0 0 5
cmrt step 0 1 5
cmrt sample 0 a
cmrt stack 10 2000
cmrt end 0
"""
"""What the runner of the toy model says."""


@pytest.mark.parametrize(
    ("said", "outputs", "message"),
    [
        (SAID, (b"x" * 100, b"x" * 4), None),
        (SAID, (b"x" * 99, b"x" * 4), "it wrote 99 bytes of output0, not 100"),
        (SAID, (b"x" * 100, None), "it wrote 0 bytes of output1, not 4"),
        (SAID, (b"x" * 101, b"x" * 4), "it wrote 101 bytes of output0, not 100"),
        (SAID.replace("cmrt sample 0 a\n", ""), (b"x" * 100, b"x" * 4), "0 samples, not 1"),
        (SAID.replace("cmrt step 0 1 5\n", ""), (b"x" * 100, b"x" * 4), "1 steps, not 2"),
        (SAID.replace("step 0 1 5", "step 7 1 5"), (b"x" * 100, b"x" * 4), "range"),
        (SAID.replace("sample 0 a", "sample 0"), (b"x" * 100, b"x" * 4), "has no word 1"),
        *(
            (SAID.replace("sample 0 a", f"sample 0 {word}"), (b"x" * 100, b"x" * 4), "not a number")
            for word in ("-5", "1_0", "+5", "A", "0x5", "f" * 35)
        ),
        (SAID.replace("stack 10 2000", "stack -5"), (b"x" * 100, b"x" * 4), "not a number"),
    ],
)
def test_success_without_all_that_belongs_to_it_is_none(said, outputs, message, tmp_path):
    lines = [f"print({said!r}, end='')"]
    for index, data in enumerate(outputs):
        if data is not None:
            lines.append(f"open('output{index}', 'wb').write({data!r})")
    image = script(tmp_path, "\n".join(lines))
    request = Request(samples=[[bytes(100)]])
    streams, log = tmp_path / "streams", tmp_path / "log"

    def run():
        return execute(
            Native(), Processes(), image, INTERFACE, request, folder=streams, timeout=60, log=log
        )

    if message is None:
        assert run().outputs == (outputs,)
    else:
        with pytest.raises(Incomplete, match=f"without an error, but .*{message}") as error:
            run()
        assert error.value.exit_code is ExitCode.FAILED
        assert log.read_text() == said


@pytest.mark.parametrize(
    ("make", "message"),
    [
        ("os.mkfifo('output0')", "output0 is not a file"),
        ("os.mkdir('output0')", "output0 is not a file"),
        ("os.symlink('/dev/zero', 'output0')", "output0 is not a file"),
        ("os.truncate(os.open('output0', os.O_CREAT | os.O_RDWR), 40 << 30)", "42949672960 bytes"),
    ],
)
def test_a_stream_that_is_no_stream(make: str, message: str, tmp_path: Path) -> None:
    """Whatever an image leaves where its output is to be, it is not read without end."""
    image = script(tmp_path, f"import os\n{make}\nprint({SAID!r}, end='')")
    request = Request(samples=[[bytes(100)]])
    streams, log = tmp_path / "streams", tmp_path / "log"
    with pytest.raises(Incomplete, match=message):
        execute(
            Native(), Processes(), image, INTERFACE, request, folder=streams, timeout=60, log=log
        )
