"""Results of tests, and the lines of JSON in which their process reports them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError


class CaseOutcome(Enum):
    """How a test ended, in the order in which tables show it."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    """It failed, as its authors expect."""
    XPASSED = "xpassed"
    """It passed, though its authors expect it to fail."""


class Event(BaseModel):
    """One line from the process that runs the tests."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Collected(Event):
    """The number of tests."""

    event: Literal["collected"] = "collected"
    tests: int


class CaseVerdict(Event):
    """One test, or a file of tests that could not be read or was skipped as a whole.

    Attributes:
        test: pytest's node id below the folder of the suite.
        outcome: see Outcome.
        reason: why it did not pass, or was not expected to; one line.
        details: pytest's full report of a failure.
        seconds: wall time, setup included.
    """

    event: Literal["result"] = "result"
    test: str
    outcome: CaseOutcome
    reason: str = ""
    details: str = ""
    seconds: float = 0.0

    @property
    def op(self) -> str:
        """The operator under test: `ops/conv` for a test in ops/test_conv.py."""
        folder, _, name = self.test.partition("::")[0].removesuffix(".py").rpartition("/")
        return "/".join(filter(None, (folder, name.removeprefix("test_"))))


@dataclass(frozen=True, slots=True)
class ConformanceResult:
    """A run of the tests.

    Attributes:
        machine: what executed the programs, for people.
        suite: name and version of the tests.
        artifacts: files that the run left, by kind.
    """

    board: str
    target: str
    isa: str
    machine: str
    suite: str
    results: Sequence[CaseVerdict]
    artifacts: Mapping[str, Path]

    def of(self, outcome: CaseOutcome) -> list[CaseVerdict]:
        return [result for result in self.results if result.outcome is outcome]


def read_event(line: str) -> Collected | CaseVerdict | None:
    """An event from a line, or None if the line is something else."""
    for kind in (CaseVerdict, Collected):
        try:
            return kind.model_validate_json(line)
        except ValidationError:
            continue
    return None


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of an op's tests per outcome."""

    op: str
    counts: Counter[CaseOutcome]

    def __getitem__(self, outcome: CaseOutcome) -> int:
        return self.counts[outcome]


def per_op(results: Iterable[CaseVerdict]) -> list[Tally]:
    """The tallies of all ops, in alphabetical order."""
    ops: dict[str, Counter[CaseOutcome]] = {}
    for result in results:
        ops.setdefault(result.op, Counter())[result.outcome] += 1
    return [Tally(op, ops[op]) for op in sorted(ops)]
