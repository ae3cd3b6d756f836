"""The same table through a cluster as without it, whatever becomes of it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.commands import NETWORK, PROGRAMS, Commands
from harness.schedulers import scheduler

from cmbuild.cache.folders import LOCK
from cmbuild.cache.locks import locked

MODELS = f"{NETWORK},{PROGRAMS / 'dynamic_shape.pte'},{PROGRAMS / 'two_inputs.pte'}"
BENCH = ("bench", "--models", MODELS, "--boards", "native")


@pytest.fixture
def cmbuild(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Commands:
    return Commands.in_folder_of(tmp_path, tmp_path_factory)


def test_two_workers_give_the_same_table(cmbuild: Commands) -> None:
    alone = cmbuild(*BENCH, "--csv", "alone.csv", "--json")
    with scheduler() as address:
        crew = cmbuild.start("worker", address, "--workers", "2")
        try:
            for _ in range(2):
                await_worker(crew)
            spread = cmbuild(*BENCH, "--csv", "spread.csv", "--json", "--scheduler", address)
        finally:
            crew.kill()
            crew.communicate()
    assert (alone.exit_code, spread.exit_code) == (1, 1), spread.stderr
    assert spread.document["cells"] == alone.document["cells"]
    assert spread.document["error"] == "1 of 3 runs failed"
    tables = [(cmbuild.folder / f"{name}.csv").read_bytes() for name in ("alone", "spread")]
    assert tables[0] == tables[1]


def await_worker(started: subprocess.Popen[str]) -> None:
    assert started.stdout is not None
    assert started.stdout.readline().startswith("  worker    tcp://")


@pytest.mark.parametrize(
    ("words", "exit_code", "message"),
    [
        (("--workers", "2", "--scheduler", "tcp://a:1"), 2, "exclude each other"),
        (("--scheduler", "here"), 2, "here is not the address of a scheduler"),
    ],
)
def test_a_wrong_place_is_one_line(
    words: tuple[str, ...], exit_code: int, message: str, cmbuild: Commands
) -> None:
    result = cmbuild(*BENCH, *words)
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert message in result.stderr and len(result.stderr.splitlines()) == 2


NOWHERE = "tcp://127.0.0.1:9"
IMPATIENT = """
import sys

from cmbuild.cli import main
from cmbuild.workers import cluster, dask_site

cluster._CONNECT_SECONDS = dask_site._DEATH_SECONDS = 1
sys.exit(main())
"""
"""A command that waits for a scheduler for a second rather than ten."""


@pytest.mark.parametrize(
    "words", [(*BENCH, "--scheduler"), ("worker",)], ids=lambda words: words[0]
)
def test_a_scheduler_that_does_not_respond_is_one_line(
    words: tuple[str, ...], cmbuild: Commands
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPATIENT, *words, NOWHERE],
        cwd=cmbuild.folder,
        env=cmbuild.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert f"no scheduler responds at {NOWHERE}" in done.stderr
    assert len(done.stderr.splitlines()) == 2


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def await_port(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return


class Shell:
    """A scheduler and two workers, started as from a shell."""

    def __init__(self, cmbuild: Commands) -> None:
        port = free_port()
        self.address = f"tcp://127.0.0.1:{port}"
        module = "distributed.cli.dask_scheduler"
        words = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
        self.scheduler = subprocess.Popen(
            [sys.executable, "-m", module, *words], stderr=subprocess.DEVNULL
        )
        await_port(port)  # or workers end with an error
        self.workers = [cmbuild.start("worker", self.address) for _ in range(2)]
        for worker in self.workers:
            await_worker(worker)

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.communicate()


@pytest.fixture
def shell(cmbuild: Commands) -> Iterator[Shell]:
    actual = Shell(cmbuild)
    yield actual
    actual.end()


MANY = (*BENCH[:-1], "native,corstone300,corstone300:scalar,microbit", "--json")


@pytest.mark.long
def test_a_killed_workers_work_is_done_again(cmbuild: Commands, shell: Shell) -> None:
    wanted = cmbuild(*MANY).document["cells"]
    running = cmbuild.start(*MANY, "--scheduler", shell.address)
    assert running.stderr is not None
    while "ran" not in running.stderr.readline():
        pass
    shell.workers[0].send_signal(signal.SIGKILL)
    stdout, stderr = running.communicate()
    assert json.loads(stdout)["cells"] == wanted, stderr
    assert shell.workers[1].poll() is None


@pytest.mark.long
def test_a_lost_scheduler_is_one_line(cmbuild: Commands, shell: Shell) -> None:
    # A unit waits for its build folder, so the command is still at work when the scheduler dies.
    folder = cmbuild.folder / "build" / "two_inputs" / "native"
    with locked(folder / LOCK, lambda: None):
        running = cmbuild.start(*MANY, "--scheduler", shell.address)
        assert running.stderr is not None
        while "ran" not in running.stderr.readline():
            pass
        shell.scheduler.kill()
        _, stderr = running.communicate()
    assert running.returncode == 1
    assert f"error: the scheduler at {shell.address} was lost with " in stderr
    assert "Traceback" not in stderr


@pytest.mark.long
def test_ctrl_c_leaves_the_cluster_clean(cmbuild: Commands, shell: Shell) -> None:
    running = cmbuild.start(*MANY, "--scheduler", shell.address)
    assert running.stderr is not None
    while "made" not in running.stderr.readline():
        pass
    running.send_signal(signal.SIGINT)
    running.communicate()
    assert running.returncode == 130
    again = cmbuild(*MANY, "--scheduler", shell.address)
    assert len(again.document["cells"]) == 12
    assert all(worker.poll() is None for worker in shell.workers)
