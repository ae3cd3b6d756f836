"""Several workers of one command: processes of their own, which end with it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import Client
from harness import schedulers
from harness.commands import Commands

from cmbuild.workers.dask_site import environment_there


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    with schedulers.scheduler() as address:
        yield address


@pytest.fixture
def crew(
    scheduler: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[subprocess.Popen[str]]:
    cmbuild = Commands.in_folder_of(tmp_path, tmp_path_factory)
    started = cmbuild.start("worker", scheduler, "--workers", "2", "--name", "crew")
    assert started.stdout is not None
    lines = [started.stdout.readline() for _ in range(2)]
    assert all(line.startswith("  worker    tcp://127.0.0.1:") for line in lines), started.stderr
    yield started
    started.kill()
    started.communicate()


def _gone(client: Client, left: int) -> bool:
    deadline = time.monotonic() + 120
    while len(client.scheduler_info(n_workers=-1)["workers"]) > left:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_each_is_a_process_and_the_others_survive_its_death(
    scheduler: str, crew: subprocess.Popen[str]
) -> None:
    with Client(scheduler, set_as_default=False) as client:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        assert {worker["name"] for worker in workers} == {"crew-0", "crew-1"}
        places = client.run(os.getpid)
        assert len({*places.values(), crew.pid}) == 3
        assert None not in client.run(environment_there).values()
        os.kill(min(places.values()), signal.SIGKILL)
        assert _gone(client, left=1)
        assert list(client.run(os.getpid).values()) == [max(places.values())]
        assert crew.poll() is None


def test_they_die_with_their_parent(scheduler: str, crew: subprocess.Popen[str]) -> None:
    with Client(scheduler, set_as_default=False) as client:
        crew.kill()
        assert _gone(client, left=0)


@pytest.mark.long
def test_without_a_scheduler_they_are_one_line(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cmbuild = Commands.in_folder_of(tmp_path, tmp_path_factory)
    result = cmbuild("worker", "tcp://127.0.0.1:9", "--workers", "2")
    assert (result.exit_code, result.stdout) == (1, "")
    assert len(result.stderr.splitlines()) == 2, result.stderr
