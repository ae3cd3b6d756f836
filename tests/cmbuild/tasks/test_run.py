"""Stages under doit: what is executed when, and how it ends."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest
from harness.processes import is_running
from harness.stages import CountingStage, Memory

from cmbuild.errors import CmbuildError, ExitCode, UsageError
from cmbuild.pipeline.session import Session
from cmbuild.pipeline.stages.stage import Kind
from cmbuild.report.lines import Lines
from cmbuild.tasks.graph import SameName, closure
from cmbuild.tasks.run import run


@dataclass
class Road:
    """export → plan ┐
    libs ────────────┴ runner → simulate, each with a source of its own."""

    root: Path
    reporter: Memory

    def __post_init__(self) -> None:
        for kind in Kind:
            self.source(kind).parent.mkdir(parents=True, exist_ok=True)
            self.source(kind).write_text(kind.label)

    def source(self, kind: Kind) -> Path:
        return self.root / "src" / kind.label

    def stages(self) -> dict[Kind, CountingStage]:
        """Fresh stages, as in a fresh process."""

        def stage(kind: Kind, *after: CountingStage) -> CountingStage:
            return CountingStage(
                kind, self.root / "build" / f"{kind.label}-result", self.source(kind), after
            )

        export, libs = stage(Kind.EXPORT), stage(Kind.LIBS)
        plan = stage(Kind.PLAN, export)
        runner = stage(Kind.RUNNER, plan, libs)
        simulate = stage(Kind.SIMULATE, runner)
        return {item.kind: item for item in (export, libs, plan, runner, simulate)}

    def run(
        self, stages: dict[Kind, CountingStage] | None = None, jobs: int = 1
    ) -> tuple[int, list[str]]:
        """The exit code and which stages did work."""
        stages = stages or self.stages()
        session = Session(self.reporter, self.root / "logs")
        status = run(session, [stages[Kind.SIMULATE]], [self.root / "build"], jobs)
        return status, [kind.label for kind, item in stages.items() if item.made]


@pytest.fixture
def road(tmp_path: Path) -> Road:
    return Road(tmp_path, Memory())


@pytest.mark.parametrize("jobs", [1, 2])
def test_everything_runs_once_and_then_never(road: Road, jobs: int) -> None:
    assert road.run(jobs=jobs) == (0, ["export", "libs", "plan", "runner", "simulate"])
    result = road.root / "build" / "simulate-result" / "result"
    assert result.read_text() == "simulate(runner(plan(export()),libs()))"
    assert set(road.reporter.ended_as.values()) == {"done"}
    assert road.run(jobs=jobs) == (0, [])
    assert road.reporter.ended_as == dict.fromkeys(road.reporter.ended_as, "cached")


@pytest.mark.parametrize(
    ("touched", "redone"),
    [
        (Kind.EXPORT, ["export", "plan", "runner", "simulate"]),
        (Kind.LIBS, ["libs", "runner", "simulate"]),
        (Kind.PLAN, ["plan", "runner", "simulate"]),
        (Kind.SIMULATE, ["simulate"]),
    ],
)
def test_change_redoes_exactly_what_depends_on_it(
    road: Road, touched: Kind, redone: list[str]
) -> None:
    road.run()
    road.source(touched).write_text("changed")
    assert road.run() == (0, redone)


def test_same_result_again_redoes_nothing_after_it(road: Road) -> None:
    road.run()
    stages = road.stages()
    (stages[Kind.EXPORT].folder / "stamp").write_text("something else")
    assert road.run(stages) == (0, ["export"])


def test_steps_are_announced_in_order(road: Road) -> None:
    road.run()
    kinds = [step.kind for step in road.reporter.begun]
    assert kinds == ["export", "plan", "libs", "runner", "simulate"]


def test_stages_that_cannot_be_told_apart_are_refused(road: Road) -> None:
    first, second = road.stages(), road.stages()
    with pytest.raises(SameName, match="two models would both be called simulate-result"):
        closure([first[Kind.SIMULATE], second[Kind.SIMULATE]])
    shared = [first[Kind.SIMULATE], first[Kind.SIMULATE], first[Kind.PLAN]]
    assert closure(shared) == closure([first[Kind.SIMULATE]])


@dataclass
class Raise:
    error: BaseException

    def __call__(self, *_: object) -> NoReturn:
        raise self.error


class Fails(CmbuildError):
    template = "it fails"


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Fails(), ExitCode.FAILED),
        (UsageError(message="bad"), ExitCode.USAGE),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
    ],
)
def test_failure_keeps_its_exit_code_and_can_be_repeated(
    road: Road, error: BaseException, status: ExitCode, jobs: int
) -> None:
    stages = road.stages()
    stages[Kind.PLAN].work = Raise(error)
    assert road.run(stages, jobs)[0] == status
    assert stages[Kind.RUNNER].made == 0
    assert road.reporter.ended_as["plan"] == "failed"
    assert len(road.reporter.errors) == 1
    assert road.run()[0] == 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_session_that_keeps_going_does_what_needs_no_failed_stage(road: Road, jobs: int) -> None:
    stages = road.stages()
    stages[Kind.PLAN].work = Raise(Fails())
    concluded: list[CmbuildError | None] = []
    session = Session(road.reporter, road.root / "logs", keep_going=True)
    session.conclude = lambda: concluded.append(session.failure_of(stages[Kind.SIMULATE]))
    goals = [stages[Kind.SIMULATE], stages[Kind.LIBS]]
    assert run(session, goals, [road.root / "build"], jobs) == 0
    assert road.reporter.ended_as == {
        "export": "done",
        "libs": "done",
        "plan": "failed",
        "runner": "skipped",
        "simulate": "skipped",
    }
    assert [type(error) for error in concluded] == [Fails]
    assert session.failure_of(stages[Kind.LIBS]) is None
    assert road.reporter.errors == []


def test_a_session_that_keeps_going_ends_when_it_is_interrupted(road: Road) -> None:
    stages = road.stages()
    stages[Kind.EXPORT].work = Raise(KeyboardInterrupt())
    session = Session(road.reporter, road.root / "logs", keep_going=True)
    status = run(session, [stages[Kind.SIMULATE]], [road.root / "build"])
    assert status == ExitCode.INTERRUPTED


def test_unforeseen_exception_is_one_line_and_a_log(
    road: Road, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMBUILD_CACHE", str(tmp_path / "cache"))
    stages = road.stages()
    stages[Kind.PLAN].work = Raise(ZeroDivisionError("one\ntwo"))
    assert road.run(stages)[0] == 1
    (error,) = road.reporter.errors
    assert error.message == "internal error: ZeroDivisionError: one two"
    (log,) = (tmp_path / "cache" / "logs").iterdir()
    assert str(log) in str(error.hint)
    assert "Traceback" in log.read_text()


def test_unforeseen_exception_of_a_report_is_one_line(
    road: Road, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CMBUILD_CACHE", str(tmp_path / "cache"))
    session = Session(Lines(verbose=False), tmp_path)
    session.reports.append(SimpleNamespace(screen=Raise(ZeroDivisionError("one"))))  # type: ignore[arg-type]
    stages = road.stages()
    status = run(session, [stages[Kind.SIMULATE]], [road.root / "build"])
    assert status == ExitCode.FAILED
    first, hint = capsys.readouterr().err.splitlines()
    assert first == "error: internal error: ZeroDivisionError: one"
    assert "the traceback is in" in hint


@pytest.mark.parametrize("jobs", [1, 2])
def test_unforeseen_exception_in_looking_for_a_result_is_a_failure(road: Road, jobs: int) -> None:
    stages = road.stages()
    stages[Kind.PLAN].parts = Raise(ZeroDivisionError("never foreseen"))  # type: ignore[method-assign,assignment]
    status, made = road.run(stages, jobs)
    assert status == ExitCode.FAILED
    assert "simulate" not in made
    assert road.reporter.ended_as["plan"] == "failed"
    (error,) = road.reporter.errors
    assert error.message == "internal error: ZeroDivisionError: never foreseen"


@pytest.mark.parametrize("jobs", [1, 2])
def test_unforeseen_exception_between_tasks_is_a_failure(
    road: Road, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Session, "is_made", Raise(ZeroDivisionError("never foreseen")))
    assert road.run(jobs=jobs) == (ExitCode.FAILED, [])
    (error,) = road.reporter.errors
    assert error.message == "internal error: ZeroDivisionError: never foreseen"


@pytest.mark.parametrize("jobs", [1, 2])
def test_signal_ends_children_and_leaves_state_whole(road: Road, jobs: int) -> None:
    road.run()
    pid, stages = road.root / "pid", road.stages()
    session = Session(road.reporter, road.root / "logs")
    road.source(Kind.PLAN).write_text("changed")

    def work() -> None:
        code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
        session.processes.run([sys.executable, "-c", code], log=road.root / "log", timeout=None)

    def interrupt() -> None:
        while not pid.exists() or not pid.read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    stages[Kind.PLAN].work = work
    thread = threading.Thread(target=interrupt)
    thread.start()
    status = run(session, [stages[Kind.SIMULATE]], [road.root / "build"], jobs)
    thread.join()
    assert status == ExitCode.INTERRUPTED
    assert [error.message for error in road.reporter.errors] == ["interrupted"]
    assert not is_running(int(pid.read_text()))
    assert (stages[Kind.PLAN].folder / "result").read_text() == "plan(export())"
    assert road.run() == (0, ["plan", "runner", "simulate"])


def test_second_build_in_the_folder_waits_and_says_so(road: Road) -> None:
    first, inside, go_on = road.stages(), threading.Event(), threading.Event()
    folder = road.root / "build"

    def work() -> None:
        inside.set()
        go_on.wait()

    class Waiting(Memory):
        def note(self, text: str) -> None:
            super().note(text)
            go_on.set()

    second, reporter = road.stages(), Waiting()

    def later() -> None:
        inside.wait()
        session = Session(reporter, road.root / "logs")
        session.start = lambda: None  # type: ignore[method-assign]  # signals: main thread only
        run(session, [second[Kind.SIMULATE]], [folder])

    first[Kind.PLAN].work = work
    thread = threading.Thread(target=later)
    thread.start()
    assert road.run(first)[0] == 0
    thread.join()
    assert reporter.notes == [f"another build is at work in {folder}; waiting for it"]
    assert [stage.made for stage in second.values()] == [0] * 5
