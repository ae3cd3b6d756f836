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
from harness.processes import wait_until_over
from harness.stages import CountingStage, Memory

from cmbuild.errors import CmbuildError, ExitCode, UsageError
from cmbuild.pipeline.session import Session
from cmbuild.pipeline.stages.stage import StageKind
from cmbuild.report.lines import Lines
from cmbuild.tasks.graph import SameName, closure
from cmbuild.tasks.run import run


@dataclass
class Chain:
    """export → plan ┐
    libs ────────────┴ runner → simulate, each with a source of its own."""

    root: Path
    reporter: Memory

    def __post_init__(self) -> None:
        for kind in StageKind:
            self.source(kind).parent.mkdir(parents=True, exist_ok=True)
            self.source(kind).write_text(kind.label)

    def source(self, kind: StageKind) -> Path:
        return self.root / "src" / kind.label

    def stages(self) -> dict[StageKind, CountingStage]:
        """Fresh stages, as in a fresh process."""

        def stage(kind: StageKind, *after: CountingStage) -> CountingStage:
            return CountingStage(
                kind, self.root / "build" / f"{kind.label}-result", self.source(kind), after
            )

        export, libs = stage(StageKind.EXPORT), stage(StageKind.LIBS)
        plan = stage(StageKind.PLAN, export)
        runner = stage(StageKind.RUNNER, plan, libs)
        simulate = stage(StageKind.SIMULATE, runner)
        return {item.kind: item for item in (export, libs, plan, runner, simulate)}

    def run(
        self, stages: dict[StageKind, CountingStage] | None = None, jobs: int = 1
    ) -> tuple[int, list[str]]:
        """The exit code and which stages did work."""
        stages = stages or self.stages()
        with Session(self.reporter, self.root / "logs") as session:
            run(session, [stages[StageKind.SIMULATE]], [self.root / "build"], jobs)
        return session.status, [kind.label for kind, item in stages.items() if item.made]


@pytest.fixture
def chain(tmp_path: Path) -> Chain:
    return Chain(tmp_path, Memory())


@pytest.mark.parametrize("jobs", [1, 2])
def test_everything_runs_once_and_then_never(chain: Chain, jobs: int) -> None:
    assert chain.run(jobs=jobs) == (0, ["export", "libs", "plan", "runner", "simulate"])
    result = chain.root / "build" / "simulate-result" / "result"
    assert result.read_text() == "simulate(runner(plan(export()),libs()))"
    assert set(chain.reporter.ended_as.values()) == {"done"}
    assert chain.run(jobs=jobs) == (0, [])
    assert chain.reporter.ended_as == dict.fromkeys(chain.reporter.ended_as, "cached")


@pytest.mark.parametrize(
    ("touched", "redone"),
    [
        (StageKind.EXPORT, ["export", "plan", "runner", "simulate"]),
        (StageKind.LIBS, ["libs", "runner", "simulate"]),
        (StageKind.PLAN, ["plan", "runner", "simulate"]),
        (StageKind.SIMULATE, ["simulate"]),
    ],
)
def test_change_redoes_exactly_what_depends_on_it(
    chain: Chain, touched: StageKind, redone: list[str]
) -> None:
    chain.run()
    chain.source(touched).write_text("changed")
    assert chain.run() == (0, redone)


def test_same_result_again_redoes_nothing_after_it(chain: Chain) -> None:
    chain.run()
    stages = chain.stages()
    (stages[StageKind.EXPORT].folder / "stamp").write_text("something else")
    assert chain.run(stages) == (0, ["export"])


def test_steps_are_announced_in_order(chain: Chain) -> None:
    chain.run()
    kinds = [step.kind for step in chain.reporter.begun]
    assert kinds == ["export", "plan", "libs", "runner", "simulate"]


def test_stages_that_cannot_be_told_apart_are_refused(chain: Chain) -> None:
    first, second = chain.stages(), chain.stages()
    with pytest.raises(SameName, match="two models have the name simulate-result"):
        closure([first[StageKind.SIMULATE], second[StageKind.SIMULATE]])
    shared = [first[StageKind.SIMULATE], first[StageKind.SIMULATE], first[StageKind.PLAN]]
    assert closure(shared) == closure([first[StageKind.SIMULATE]])


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
    chain: Chain, error: BaseException, status: ExitCode, jobs: int
) -> None:
    stages = chain.stages()
    stages[StageKind.PLAN].work = Raise(error)
    assert chain.run(stages, jobs)[0] == status
    assert stages[StageKind.RUNNER].made == 0
    assert chain.reporter.ended_as["plan"] == "failed"
    assert len(chain.reporter.errors) == 1
    assert chain.run()[0] == 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_session_that_keeps_going_does_what_needs_no_failed_stage(
    chain: Chain, jobs: int
) -> None:
    stages = chain.stages()
    stages[StageKind.PLAN].work = Raise(Fails())
    goals = [stages[StageKind.SIMULATE], stages[StageKind.LIBS]]
    with Session(chain.reporter, chain.root / "logs", keep_going=True) as session:
        run(session, goals, [chain.root / "build"], jobs)
    assert session.status == 0
    assert chain.reporter.ended_as == {
        "export": "done",
        "libs": "done",
        "plan": "failed",
        "runner": "skipped",
        "simulate": "skipped",
    }
    assert isinstance(session.failures.of(stages[StageKind.SIMULATE]), Fails)
    assert session.failures.of(stages[StageKind.LIBS]) is None
    assert chain.reporter.errors == []


def test_a_session_that_keeps_going_ends_when_it_is_interrupted(chain: Chain) -> None:
    stages = chain.stages()
    stages[StageKind.EXPORT].work = Raise(KeyboardInterrupt())
    with Session(chain.reporter, chain.root / "logs", keep_going=True) as session:
        run(session, [stages[StageKind.SIMULATE]], [chain.root / "build"])
    assert session.status == ExitCode.INTERRUPTED


def test_unforeseen_exception_is_one_line_and_a_log(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMBUILD_CACHE", str(tmp_path / "cache"))
    stages = chain.stages()
    stages[StageKind.PLAN].work = Raise(ZeroDivisionError("one\ntwo"))
    assert chain.run(stages)[0] == 1
    (error,) = chain.reporter.errors
    assert error.message == "internal error: ZeroDivisionError: one two"
    (log,) = (tmp_path / "cache" / "logs").iterdir()
    assert str(log) in str(error.hint)
    assert "Traceback" in log.read_text()


def test_unforeseen_exception_of_a_report_is_one_line(
    chain: Chain,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CMBUILD_CACHE", str(tmp_path / "cache"))
    report = SimpleNamespace(screen=Raise(ZeroDivisionError("one")), document=str)
    stages = chain.stages()
    with Session(Lines(verbose=False), tmp_path) as session:
        run(session, [stages[StageKind.SIMULATE]], [chain.root / "build"])
        session.results.append(report)
    assert session.status == ExitCode.FAILED
    first, hint = capsys.readouterr().err.splitlines()
    assert first == "error: internal error: ZeroDivisionError: one"
    assert "the traceback is in" in hint


@pytest.mark.parametrize("jobs", [1, 2])
def test_unforeseen_exception_in_looking_for_a_result_is_a_failure(chain: Chain, jobs: int) -> None:
    stages = chain.stages()
    stages[StageKind.PLAN].parts = Raise(ZeroDivisionError("never foreseen"))  # type: ignore[method-assign,assignment]
    status, made = chain.run(stages, jobs)
    assert status == ExitCode.FAILED
    assert "simulate" not in made
    assert chain.reporter.ended_as["plan"] == "failed"
    (error,) = chain.reporter.errors
    assert error.message == "internal error: ZeroDivisionError: never foreseen"


@pytest.mark.parametrize("jobs", [1, 2])
def test_unforeseen_exception_between_tasks_is_a_failure(
    chain: Chain, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cmbuild.tasks.graph.is_made", Raise(ZeroDivisionError("never foreseen")))
    assert chain.run(jobs=jobs) == (ExitCode.FAILED, [])
    (error,) = chain.reporter.errors
    assert error.message == "internal error: ZeroDivisionError: never foreseen"


def test_an_interrupt_in_a_finalizer_is_neither_printed_nor_lost(
    chain: Chain, capfd: pytest.CaptureFixture[str]
) -> None:
    class Dying:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0)

    session = Session(chain.reporter, chain.root / "logs")
    hook = sys.unraisablehook
    with session:
        Dying()
        session.attempt(lambda: pytest.fail("went on"))
    assert session.status == ExitCode.INTERRUPTED
    assert capfd.readouterr().err == ""
    assert sys.unraisablehook is hook


@pytest.mark.parametrize("jobs", [1, 2])
def test_signal_ends_children_and_leaves_state_whole(chain: Chain, jobs: int) -> None:
    chain.run()
    pid, stages = chain.root / "pid", chain.stages()
    session = Session(chain.reporter, chain.root / "logs")
    chain.source(StageKind.PLAN).write_text("changed")

    def work() -> None:
        code = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
        session.processes.run([sys.executable, "-c", code], log=chain.root / "log", timeout=None)

    def interrupt() -> None:
        while not pid.exists() or not pid.read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    stages[StageKind.PLAN].work = work
    thread = threading.Thread(target=interrupt)
    thread.start()
    with session:
        run(session, [stages[StageKind.SIMULATE]], [chain.root / "build"], jobs)
    thread.join()
    assert session.status == ExitCode.INTERRUPTED
    assert [error.message for error in chain.reporter.errors] == ["interrupted"]
    wait_until_over(int(pid.read_text()))
    assert (stages[StageKind.PLAN].folder / "result").read_text() == "plan(export())"
    assert chain.run() == (0, ["plan", "runner", "simulate"])


def test_second_build_in_the_folder_waits_and_says_so(chain: Chain) -> None:
    first, inside, go_on = chain.stages(), threading.Event(), threading.Event()
    folder = chain.root / "build"

    def work() -> None:
        inside.set()
        go_on.wait()

    class Waiting(Memory):
        def note(self, text: str) -> None:
            super().note(text)
            go_on.set()

    second, reporter = chain.stages(), Waiting()

    def later() -> None:
        inside.wait()
        session = Session(reporter, chain.root / "logs")
        run(session, [second[StageKind.SIMULATE]], [folder])  # signals are for the main thread
        session.finish()

    first[StageKind.PLAN].work = work
    thread = threading.Thread(target=later)
    thread.start()
    assert chain.run(first)[0] == 0
    thread.join()
    assert reporter.notes == [f"another build is running in {folder}; waiting for it"]
    assert [stage.made for stage in second.values()] == [0] * 5
