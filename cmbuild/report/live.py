"""Output for a terminal: the steps in motion, then the screen, with colours for states."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from cmbuild.pipeline.events import Portion, StepOutcome, StepState, WorkStep
from cmbuild.report.lines import REASON, line
from cmbuild.report.rendering import reports, title
from cmbuild.report.stream import printable
from cmbuild.report.text import fit

if TYPE_CHECKING:
    from cmbuild.errors import CmbuildError

_STYLES = {
    StepState.CACHED: "dim",
    StepState.DONE: "green",
    StepState.FETCHED: "green",
    StepState.FAILED: "red",
    StepState.SKIPPED: "dim",
}
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_BAR = 8  # columns
_RATE = 1.0  # seconds until a rate says something


@dataclass(frozen=True, slots=True)
class _Doing:
    """A step's work at a time."""

    text: str
    portion: Portion | None
    at: float


class LiveSteps:
    """A reporter that redraws the steps in place while they run."""

    def __init__(self, verbose: bool, console: Console | None = None) -> None:
        self._verbose = verbose
        self._console = console or _console()
        self._steps: tuple[WorkStep, ...] = ()
        self._since: dict[WorkStep, float] = {}
        self._doing: dict[WorkStep, _Doing] = {}
        self._outcomes: dict[WorkStep, StepOutcome] = {}
        self._lock = threading.Lock()
        self._live: Live | None = None

    def begin(self, steps: Sequence[WorkStep]) -> None:
        # A command may perform the same steps twice, as `compare` does for two revisions.
        for known in (self._since, self._doing, self._outcomes):
            known.clear()
        self._steps = tuple(steps)
        self._live = Live(console=self._console, get_renderable=self._render, refresh_per_second=10)
        self._live.start()

    def started(self, step: WorkStep) -> None:
        with self._lock:
            self._since[step] = time.monotonic()

    def progress(self, step: WorkStep, text: str, portion: Portion | None = None) -> None:
        with self._lock:
            self._doing[step] = _Doing(text, portion, time.monotonic())

    def ended(self, outcome: StepOutcome) -> None:
        with self._lock:
            self._outcomes[outcome.step] = outcome

    def finished(self) -> None:
        if self._live is not None:
            self._live.stop()

    def note(self, text: str) -> None:
        self._console.print(Text(printable(f"  {text}"), "yellow"))

    def command(self, line: str) -> None:
        if self._verbose:
            self._console.print(Text(printable(f"$ {line}"), "dim"), soft_wrap=True)

    def close(self, results: Sequence[object], failure: CmbuildError | None) -> None:
        self.finished()
        space = Text("\n" if self._live is not None else "")
        for report in reports(results):
            screen = Text(title(report, results)) + report.screen()
            screen.plain = printable(screen.plain)
            self._console.print(space + screen + space, soft_wrap=True)
        if failure is not None:
            message, _, hint = printable(failure.lines).partition("\n")
            lines = Text.assemble(
                (message[:6], "bold red"), message[6:], "\n" if hint else "", hint
            )
            Console(file=sys.stderr, highlight=False).print(lines, soft_wrap=True)

    def _render(self) -> Text:
        with self._lock:
            lines = self._lines(self._steps)
            if len(lines) >= self._console.height:
                ended = f"  {len(self._outcomes)} of {len(self._steps)} steps have ended"
                lines = [Text(ended), *self._lines(self._news())[2 - self._console.height :]]
            joined = Text("\n").join(lines)
            joined.plain = printable(joined.plain)
            return joined

    def _news(self) -> list[WorkStep]:
        """If there are more steps than the terminal has lines: the running and the failed ones."""
        outcomes = self._outcomes
        failed = [step for step in outcomes if outcomes[step].state is StepState.FAILED]
        working = [step for step in self._since if step not in outcomes]
        return [*failed, *working]

    def _lines(self, steps: Sequence[WorkStep]) -> list[Text]:
        """One line each, and one below with the reason for a failure."""
        lines = []
        for step in steps:
            lines.append(self._line(step))
            if (outcome := self._outcomes.get(step)) is not None and outcome.reason is not None:
                reason = fit(outcome.reason, self._console.width - REASON)
                lines.append(Text(" " * REASON + reason, _STYLES[outcome.state]))
        return lines

    def _line(self, step: WorkStep) -> Text:
        outcome = self._outcomes.get(step)
        if outcome is not None:
            text = Text(line(step.kind, outcome.text, outcome.status))
            text.stylize(_STYLES[outcome.state], len(text) - len(outcome.status))
            return text
        if step not in self._since:
            return Text(line(step.kind, step.subject, ""), "dim")
        since, now = self._since[step], time.monotonic()
        spinner = _SPINNER[int((now - since) * 10) % len(_SPINNER)]
        doing = _shown(self._doing.get(step), since, now)
        return Text(line(step.kind, step.subject, f"{spinner} {now - since:.0f} s {doing}"))


def _shown(doing: _Doing | None, since: float, now: float) -> str:
    """`quantize ████▌··· 0:31 left`, or what is known of this."""
    if doing is None:
        return ""
    portion = doing.portion
    if portion is None:
        return doing.text
    taken, share = doing.at - since, min(1.0, max(0.0, portion.share))
    left = portion.left
    if left is None and share > 0 and taken >= _RATE:
        left = taken * (1 - share) / share
    words = [doing.text, _bar(share)]
    if left is not None:
        # A guess about the time since goes no further than the next report.
        ahead = min(1.0, portion.next)
        most = (ahead - share) / (1 - share) if share < ahead else 0.0
        waited = min(most, (now - doing.at) / left) if left > 0 else most
        words[1] = _bar(share + (1 - share) * waited)
        seconds = round(left * (1 - waited))
        words.append(f"{seconds // 60}:{seconds % 60:02} left")
    return " ".join(filter(None, words))


def _bar(share: float) -> str:
    # Full only when the step has ended.
    eighths = min(int(share * _BAR * 8), _BAR * 8 - 1)
    whole, part = divmod(eighths, 8)
    return ("█" * whole + " ▏▎▍▌▋▊▉"[part]).strip().ljust(_BAR, "·")


def _console() -> Console:
    """The console of standard output; $NO_COLOR stands for no styles at all."""
    if os.environ.get("NO_COLOR"):
        return Console(highlight=False, color_system=None)
    return Console(highlight=False)
