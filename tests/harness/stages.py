"""Stand-ins for slow parts: counting stages and a recording reporter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cmbuild.cache.fingerprint import Value
from cmbuild.cache.store import Entry
from cmbuild.errors import CmbuildError
from cmbuild.pipeline.events import Portion, StepOutcome, WorkStep
from cmbuild.pipeline.stages.stage import Stage, StageKind


class Memory:
    """A reporter that keeps every event."""

    def __init__(self) -> None:
        self.begun: tuple[WorkStep, ...] = ()
        self.running: list[str] = []
        self.progressed: list[tuple[str, str]] = []
        self.portions: list[Portion | None] = []
        self.outcomes: list[StepOutcome] = []
        self.notes: list[str] = []
        self.commands: list[str] = []
        self.results: list[object] = []
        self.errors: list[CmbuildError] = []

    def begin(self, steps: Sequence[WorkStep]) -> None:
        self.begun = tuple(steps)

    def started(self, step: WorkStep) -> None:
        self.running.append(step.kind)

    def progress(self, step: WorkStep, text: str, portion: Portion | None = None) -> None:
        self.progressed.append((step.subject, text))
        self.portions.append(portion)

    def ended(self, outcome: StepOutcome) -> None:
        self.outcomes.append(outcome)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def command(self, line: str) -> None:
        self.commands.append(line)

    def finished(self) -> None:
        pass

    def close(self, results: Sequence[object], failure: CmbuildError | None) -> None:
        self.results += results
        self.errors += [failure] if failure else []

    @property
    def ended_as(self) -> dict[str, str]:
        """How each step ended, by kind."""
        return {outcome.step.kind: outcome.state.value for outcome in self.outcomes}


class CountingStage(Stage):
    """Joins a source file and the previous results into its own; counts its runs."""

    verb = "made"

    def __init__(
        self, kind: StageKind, folder: Path, source: Path, after: tuple[CountingStage, ...] = ()
    ) -> None:
        self.kind = kind  # type: ignore[misc]
        self.name = folder.name
        self.subject = f"fake {kind.label}"
        self.folder = folder
        self.source = source
        self.after = after
        self.made = 0
        self.work: Callable[[], None] = lambda: None

    def parts(self) -> Mapping[str, Value]:
        return {
            "source": self.source,
            "before": [stage.entry.folder / "result" for stage in self.after],
        }

    @property
    def entry(self) -> Entry:
        return Entry(self.folder)

    def make(self, folder: Path) -> None:
        self.made += 1
        self.work()
        before = [(stage.entry.folder / "result").read_text() for stage in self.after]
        (folder / "result").write_text(f"{self.source.read_text()}({','.join(before)})")
