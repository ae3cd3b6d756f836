"""A warm process exports as a fresh one does: same output, same status, same end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from harness.processes import wait_until_over

from cmbuild.warm import client
from cmbuild.warm.server import IDLE_SECONDS
from cmcompiler.frontend.job import ExportJob

# Instead of exporting, a child does what its only job says.
SERVER = """
import os, sys, time
from pathlib import Path
from cmbuild.warm import server
def do(arguments):
    print(os.getcwd(), flush=True)
    print("a warning", file=sys.stderr)
    Path(f"{os.getpid()}.child").touch()
    exec(arguments[0])
    return 2
server._MODULES, server._done = (), do
server.serve(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
"""
CLIENT = (sys.executable, "-m", "cmbuild.warm.client")


@contextmanager
def serving(
    place: Path, idle: float = IDLE_SECONDS, key: str = ""
) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", SERVER, str(place), key, str(idle)]
    is_first = not place.exists()
    with subprocess.Popen(command) as process:
        deadline = time.monotonic() + 120
        while is_first and not place.exists() and idle == IDLE_SECONDS:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    with serving(tmp_path / "socket"):
        yield tmp_path / "socket"


def child(folder: Path) -> int:
    """The number of the child that is at work, once it is."""
    deadline = time.monotonic() + 120
    while not (files := list(folder.glob("*.child"))):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(files[0].stem)


def test_output_and_status_are_the_clients(place: Path, tmp_path: Path) -> None:
    command = [*CLIENT, place, "", "print('done')"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, f"{tmp_path}\ndone\n")
    assert done.stderr == "a warning\n"


def test_no_export_sees_what_another_did(place: Path, tmp_path: Path) -> None:
    leave, look = "os.left = 1", "print(hasattr(os, 'left'))"
    subprocess.run([*CLIENT, place, "", leave], cwd=tmp_path, capture_output=True, check=False)
    command = [*CLIENT, place, "", look]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "False"


def test_a_crash_ends_one_export_only(place: Path, tmp_path: Path) -> None:
    for _ in range(2):
        command = [*CLIENT, place, "", "os.kill(os.getpid(), 11)"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == -signal.SIGSEGV


def test_a_killed_client_ends_its_export(place: Path, tmp_path: Path) -> None:
    with subprocess.Popen([*CLIENT, place, "", "time.sleep(60)"], cwd=tmp_path) as client:
        pid = child(tmp_path)
        client.kill()
    wait_until_over(pid)


def test_a_killed_server_ends_its_exports(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(serving(tmp_path / "socket"))
        client = subprocess.Popen(
            [*CLIENT, tmp_path / "socket", "", "time.sleep(60)"],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
        pid = child(tmp_path)
        server.kill()
        assert "the process that exports was killed" in client.communicate()[1]
        assert client.returncode == 1
        wait_until_over(pid)


def test_a_server_without_requests_ends(tmp_path: Path) -> None:
    with serving(tmp_path / "socket", 0.1) as server:
        assert server.wait(10) == 0


def test_without_a_server_the_client_exports(tmp_path: Path) -> None:
    """A socket that nobody listens at is not waited for."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as left:
        left.bind(os.fspath(tmp_path / "socket"))
    command = [*CLIENT, tmp_path / "socket", "", "export", tmp_path / "none.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "No such file" in done.stdout) == (2, True), done.stderr


def test_variables_are_the_clients(place: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [*CLIENT, place, "", "print(os.environ.get('MINE'), 'HOME' in os.environ)"],
        cwd=tmp_path,
        env={"MINE": "yes", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == "yes False", done.stderr


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, str]]:
    """Servers that a client in this process starts, instead of starting them."""
    collected: list[tuple[Path, str]] = []
    monkeypatch.setattr(client, "_start_server", lambda place, key: collected.append((place, key)))
    monkeypatch.setattr("cmcompiler.__main__.main", len)
    return collected


def test_the_first_export_starts_a_server_for_others(
    tmp_path: Path, started: list[tuple[Path, str]]
) -> None:
    assert client.request(tmp_path / "socket", ["export", "job"], "key", awaited=False) == 2
    assert started == [(tmp_path / "socket", "key")]


def test_a_server_gives_way_to_another_key(tmp_path: Path, started: list[tuple[Path, str]]) -> None:
    with serving(tmp_path / "socket", key="old") as server:
        work = subprocess.Popen(
            [*CLIENT, tmp_path / "socket", "old", "time.sleep(1); print('right')"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        child(tmp_path)
        assert client.request(tmp_path / "socket", ["export", "job"], "new", awaited=False) == 2
        assert started == [(tmp_path / "socket", "new")]
        assert work.communicate()[0].endswith("right\n") and work.returncode == 2
        assert server.wait(10) == 0
        assert not (tmp_path / "socket").exists()


def test_one_server_a_place(place: Path) -> None:
    with client._connected(place, awaited=True) as connection:  # type: ignore[union-attr]
        assert client.is_own(connection)
    with serving(place) as second:
        assert second.wait(10) == 0
    with client._connected(place, awaited=False):  # type: ignore[union-attr]
        pass


def test_nothing_is_asked_of_another_users_server(
    place: Path, tmp_path: Path, started: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert client.request(place, ["export"], awaited=False) == 1
    assert not list(tmp_path.glob("*.child"))


@pytest.mark.long
def test_programs_are_those_of_a_fresh_process(tmp_path: Path) -> None:
    jobs = []
    for name in ("cold", "warm", "again"):
        jobs.append(tmp_path / f"{name}.json")
        job = ExportJob(model="digits", output=tmp_path / name)
        jobs[-1].write_text(job.model_dump_json())
    fresh = [sys.executable, "-m", "cmcompiler", "export", str(jobs[0])]
    subprocess.run(fresh, capture_output=True, check=True)
    with subprocess.Popen(
        [sys.executable, "-m", "cmbuild.warm.server", tmp_path / "socket", ""],
        env=os.environ,
    ) as server:
        for job in jobs[1:]:
            words = [*CLIENT, tmp_path / "socket", "", "export", job]
            subprocess.run(words, capture_output=True, check=True)
        server.kill()
    for name in ("model.pte", "samples.npz", "outputs.npz"):
        listed = {(tmp_path / job.stem / name).read_bytes() for job in jobs}
        assert len(listed) == 1, name
