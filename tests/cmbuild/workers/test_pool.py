"""Workers of this computer: each unit is performed once, unless its worker dies."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from harness.commands import NETWORK, PROGRAMS, Commands
from harness.processes import wait_until_over
from harness.units import DeadlyOnceUnit, DeadlyUnit, EndlessUnit, FailingUnit, Unit

from cmbuild.process import Processes
from cmbuild.workers.pool import Pool, PoolEnded
from cmbuild.workers.results import Answer

TESTS = Path(__file__).parents[2]


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    monkeypatch.setenv("PYTHONPATH", os.fspath(TESTS))  # of the units
    with Pool(2, Processes(), tmp_path / "logs") as opened:
        yield opened


def answers(
    pool: Pool, units: Sequence[Unit], needs: Sequence[Sequence[Unit]] = ()
) -> dict[str, Answer[int]]:
    collected = {}
    for unit, outcome in pool.perform(units, needs or [()] * len(units)):
        assert isinstance(outcome.result, Answer) and unit.key not in collected
        collected[unit.key] = outcome.result
    return collected


def test_what_units_need_is_done_once_and_before(pool: Pool, tmp_path: Path) -> None:
    units = [Unit(f"unit{number}", tmp_path) for number in range(6)]
    shared, failing = Unit("shared", tmp_path), FailingUnit("failing", tmp_path)
    received = answers(pool, units, [[shared]] * 4 + [[shared, failing]] * 2)
    assert [unit.performed for unit in (*units, shared, failing)] == [1, 1, 1, 1, 0, 0, 1, 1]
    assert list(received).index("shared") < min(list(received).index(unit.key) for unit in units)
    errors = {received[unit.key].error for unit in units[4:]}
    assert errors == {received["failing"].error} == {"failing fails"}
    processes = {received[unit.key].value for unit in units[:4]}
    assert os.getpid() not in processes and len(processes) <= 2


def test_the_work_of_one_that_dies_is_done_again(pool: Pool, tmp_path: Path) -> None:
    units = [Unit("before", tmp_path), DeadlyOnceUnit("once", tmp_path), Unit("after", tmp_path)]
    received = answers(pool, units)
    assert all(answer.error is None for answer in received.values())
    assert [unit.performed for unit in units] == [1, 2, 1]


def test_a_unit_that_kills_workers_fails_alone(pool: Pool, tmp_path: Path) -> None:
    deadly = DeadlyUnit("deadly", tmp_path)
    received = answers(pool, [deadly, *(Unit(f"unit{number}", tmp_path) for number in range(8))])
    assert received.pop("deadly").error == "deadly: 4 workers died at work on it"
    assert deadly.performed == 4
    assert len(received) == 8 and all(answer.error is None for answer in received.values())


def test_threads_share_it(pool: Pool, tmp_path: Path) -> None:
    collected: list[dict[str, Answer[int]]] = []

    def work(name: str) -> None:
        collected.append(answers(pool, [Unit(f"{name}{number}", tmp_path) for number in range(4)]))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    processes = {answer.value for each in collected for answer in each.values()}
    assert [len(each) for each in collected] == [4, 4, 4] and len(processes) <= 2


def test_it_ends_with_the_server(pool: Pool, tmp_path: Path) -> None:
    (answer,) = answers(pool, [Unit("first", tmp_path)]).values()
    assert answer.value is not None
    server = int(Path(f"/proc/{answer.value}/stat").read_text().split()[3])
    os.kill(server, signal.SIGKILL)
    wait_until_over(answer.value)
    with pytest.raises(PoolEnded, match="the workers have ended"):
        answers(pool, [Unit("second", tmp_path)])


def test_nothing_outlives_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.fspath(TESTS))
    units = [Unit("first", tmp_path), EndlessUnit("endless", tmp_path), Unit("more", tmp_path)]
    with Pool(1, Processes(), tmp_path / "logs") as pool:
        work = pool.perform(units, [()] * 3)
        _, outcome = next(work)
        assert isinstance(outcome.result, Answer) and outcome.result.value is not None
        work.close()
    wait_until_over(outcome.result.value)
    assert not pool._socket.parent.exists()
    assert units[2].performed == 0


def test_two_give_the_same_table(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    cmbuild = Commands.in_folder_of(tmp_path, tmp_path_factory)
    models = f"{NETWORK},{PROGRAMS / 'dynamic_shape.pte'},{PROGRAMS / 'two_inputs.pte'}"
    bench = ("bench", "--models", models, "--boards", "native")
    alone = cmbuild(*bench, "--csv", "alone.csv", "--json")
    spread = cmbuild(*bench, "--csv", "spread.csv", "--json", "--workers", "2")
    assert (alone.exit_code, spread.exit_code) == (1, 1), spread.stderr
    assert spread.document["cells"] == alone.document["cells"]
    assert spread.document["error"] == "1 of 3 runs failed"
    tables = [(cmbuild.folder / f"{name}.csv").read_bytes() for name in ("alone", "spread")]
    assert tables[0] == tables[1]
