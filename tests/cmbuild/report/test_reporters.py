from __future__ import annotations

import io
import json
import math
from dataclasses import replace

import pytest
from harness.results import MV2
from rich.console import Console

from cmbuild.errors import UnknownName, UsageError
from cmbuild.pipeline.events import Portion, Reporter, StepOutcome, StepState, WorkStep
from cmbuild.report import live
from cmbuild.report.json_lines import Json
from cmbuild.report.lines import Lines
from cmbuild.report.live import LiveSteps
from cmbuild.report.run import RunReport

EXPORT = WorkStep("export", "mv2 for cortex-m55", "exported")
RUNNER = WorkStep("runner", "mv2 on corstone300", "linked")
ERROR = UnknownName(kind="board", name="corstone30", known=["corstone300"])
ERROR_LINES = "error: unknown board 'corstone30'\n  try: did you mean corstone300?\n"


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that can move its cursor, whatever the tests run in."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def play(reporter: Reporter) -> None:
    reporter.begin((EXPORT, RUNNER))
    reporter.started(EXPORT)
    reporter.progress(EXPORT, "quantize")
    reporter.command("python -m cmcompiler")
    reporter.ended(StepOutcome(EXPORT, StepState.CACHED, EXPORT.subject))
    reporter.started(RUNNER)
    reporter.note("another build is at work; waiting for it")
    reporter.ended(StepOutcome(RUNNER, StepState.DONE, RUNNER.subject, 0.62))


STEPS = """\
  export    mv2 for cortex-m55                  cached
  another build is at work; waiting for it
  runner    mv2 on corstone300                  linked 0.6 s
"""


def test_lines_come_once_each(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Lines(verbose=False)
    play(reporter)
    assert capsys.readouterr().out == STEPS
    reporter.close([RunReport(MV2)], None)
    assert capsys.readouterr().out.startswith("\n  ✓ verified: 2 of 2")


def test_a_failure_that_others_go_on_after_has_its_reason_below(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reporter = Lines(verbose=False)
    reporter.begin((EXPORT, RUNNER))
    reporter.ended(
        StepOutcome(RUNNER, StepState.FAILED, RUNNER.subject, 0.6, "because of " + "x" * 70)
    )
    assert capsys.readouterr().out.splitlines() == [
        "  runner    mv2 on corstone300                  failed",
        "      because of",
        "      " + "x" * 70,
    ]


def test_verbose_shows_commands(capsys: pytest.CaptureFixture[str]) -> None:
    play(Lines(verbose=True))
    assert capsys.readouterr().out.startswith("$ python -m cmcompiler\n")


class Clock:
    """Seconds that a test sets."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(live, "time", clock)
    return clock


def working(clock: Clock, seconds: float, portion: Portion | None) -> LiveSteps:
    """A step that has come so far after some seconds."""
    reporter = LiveSteps(verbose=False, console=Console(width=80, height=40, file=io.StringIO()))
    reporter._steps = (EXPORT,)
    reporter.started(EXPORT)
    clock.now += seconds
    reporter.progress(EXPORT, "quantize", portion)
    return reporter


@pytest.mark.parametrize(
    ("portion", "later", "shown"),
    [
        (None, 0, "10 s quantize"),
        (Portion(0.25), 0, "10 s quantize ██······ 0:30 left"),
        (Portion(0.25), 15, "25 s quantize █████··· 0:15 left"),
        (Portion(0.25), 99, "109 s quantize ███████▉ 0:00 left"),
        (Portion(0.5, left=70), 0, "10 s quantize ████···· 1:10 left"),
        (Portion(0.3125, left=10), 0, "10 s quantize ██▌····· 0:10 left"),
        (Portion(0.25, next=0.5), 15, "25 s quantize ████···· 0:20 left"),
        (Portion(0.0), 0, "10 s quantize ········"),
        (Portion(1.0), 0, "10 s quantize ███████▉ 0:00 left"),
        (Portion(1.0, next=1.25), 5, "15 s quantize ███████▉ 0:00 left"),
        (Portion(2.0, left=0), 5, "15 s quantize ███████▉ 0:00 left"),
    ],
)
def test_a_long_step_has_a_bar_and_the_time_that_is_left(
    clock: Clock, portion: Portion | None, later: float, shown: str
) -> None:
    reporter = working(clock, 10, portion)
    clock.now += later
    rendered = reporter._render().plain
    assert rendered.startswith("  export    mv2 for cortex-m55")
    assert rendered.split(maxsplit=5)[-1] == shown
    assert len(rendered) <= 80


def test_a_rate_needs_a_second(clock: Clock) -> None:
    assert "left" not in working(clock, 0.5, Portion(0.5))._render().plain


def test_steps_that_are_performed_again_start_anew(clock: Clock) -> None:
    reporter = working(clock, 10, Portion(0.5))
    reporter.ended(StepOutcome(EXPORT, StepState.DONE, EXPORT.subject, 10))
    assert "exported" in reporter._render().plain
    reporter.begin((EXPORT, RUNNER))
    reporter.finished()
    assert reporter._render().plain.split() == [
        *("export", "mv2", "for", "cortex-m55", "runner", "mv2", "on", "corstone300")
    ]


@pytest.mark.parametrize("reporter", [Lines(verbose=False), LiveSteps(verbose=False)])
def test_error_is_one_line_and_a_hint(
    reporter: Reporter, capsys: pytest.CaptureFixture[str]
) -> None:
    reporter.close([], ERROR)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", ERROR_LINES)


def test_live_ends_with_the_same_lines_and_the_screen() -> None:
    output = io.StringIO()
    reporter = LiveSteps(False, Console(file=output, force_terminal=True, width=80, no_color=True))
    play(reporter)
    reporter.close([RunReport(MV2)], None)
    shown = output.getvalue()
    assert "  export    mv2 for cortex-m55                  \x1b[2mcached" in shown
    assert "linked 0.6 s" in shown
    assert "verified" in shown


def test_live_shows_what_matters_of_more_steps_than_lines() -> None:
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=80, height=8, no_color=True)
    reporter = LiveSteps(False, console)
    steps = [WorkStep("simulate", f"model {number}", "ran") for number in range(20)]
    reporter.begin(steps)
    for number, step in enumerate(steps[:15]):
        reporter.started(step)
        if number < 14:
            state, reason = (
                (StepState.FAILED, "why " * 30) if number == 3 else (StepState.DONE, None)
            )
            reporter.ended(StepOutcome(step, state, step.subject, reason=reason))
    reporter.close([], None)
    *_, ended, failed, why, working, _ = output.getvalue().splitlines()
    assert "14 of 20 steps have ended" in ended
    assert "  simulate  model 3 " in failed
    assert "failed" in failed
    assert "      why why" in why and why.rstrip("\x1b[0m").endswith("…")
    assert "  simulate  model 14 " in working


def test_json_is_one_object_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    reporter = Json(verbose=True)
    play(reporter)
    reporter.close([RunReport(MV2)], None)
    captured = capsys.readouterr()
    assert captured.err == "$ python -m cmcompiler\n" + STEPS
    document = json.loads(captured.out)
    assert document["verified"] is True
    assert document["mismatches"] == 0
    assert document["weights"]["source"] == "random"
    assert document["memory"] == {
        "flash": {"code": 28570, "weights": 3659104, "total": 3687674, "capacity": 8 << 20},
        "ram": {
            "arena": 1509744,
            "state": 0,
            "static": 612,
            "reserved": 16384,
            "stack": 1944,
            "total": 1526740,
            "capacity": 4 << 20,
            "pools": [],
            "weights": 0,
            "code": 0,
            "stack_problem": None,
        },
        "arena": {
            "least": 204352,
            "lower_bound": 1509680,
            "peak": {
                "step": 2,
                "title": "conv2d 1×1",
                "source": "…conv2d.out #5",
                "bytes": 1509680,
                "tensors": [
                    {"name": "t3", "bytes": 1204224, "step": None},
                    {"name": "t4", "bytes": 301056, "step": None},
                ],
            },
            "timeline": [
                {"title": "quantize", "tensors": 752640, "rings": 0, "scratch": 0},
                {"title": "conv2d 1×1", "tensors": 551936, "rings": 16384, "scratch": 4400},
                {"title": "conv2d 1×1", "tensors": 1505280, "rings": 0, "scratch": 4400},
            ],
        },
        "regions": [
            {
                "name": "sram",
                "kind": "ram",
                "origin": 0x31000000,
                "size": 4 << 20,
                "parts": [{"name": "arena", "bytes": 1509744}],
            }
        ],
    }
    assert document["instructions"]["total"] == 141_234_567
    assert [op["instructions"] for op in document["instructions"]["per_op"]] == [
        88_100_000,
        1_000,
        38_200_000,
        420_000,
    ]
    assert document["steps"] == [
        {"name": "export", "subject": "mv2 for cortex-m55", "state": "cached", "seconds": 0.0},
        {"name": "runner", "subject": "mv2 on corstone300", "state": "done", "seconds": 0.62},
    ]
    assert "error" not in document


def test_json_of_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    Json(verbose=False).close([], ERROR)
    captured = capsys.readouterr()
    assert captured.err == ERROR_LINES
    assert json.loads(captured.out) == {
        "error": "unknown board 'corstone30'",
        "hint": "did you mean corstone300?",
        "exit_code": 2,
    }


def test_json_of_a_run_that_failed_is_still_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    best = (replace(MV2.best[0], value=math.nan),)
    Json(verbose=False).close([RunReport(replace(MV2, best=best))], UsageError(message="bad"))
    document = json.loads(capsys.readouterr().out)
    assert (document["model"], document["error"], document["exit_code"]) == ("mv2", "bad", 2)
    assert document["top"][0]["value"] is None


@pytest.mark.parametrize("state", StepState)
def test_a_terminal_shows_every_way_to_end(state: StepState) -> None:
    output = io.StringIO()
    live = LiveSteps(False, Console(file=output, force_terminal=True, width=80, no_color=True))
    live.begin([RUNNER])
    outcome = StepOutcome(RUNNER, state, RUNNER.subject, 0.62)
    live.ended(outcome)
    live.close([], None)
    assert outcome.status in output.getvalue()
