"""The results of ExecuTorch's own tests on a board, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from cmbuild.conformance.results import CaseOutcome, CaseVerdict, ConformanceResult, Tally, per_op
from cmbuild.pipeline.events import StepOutcome
from cmbuild.report import text
from cmbuild.report.documents import Document, ResultDocument, StepDocument

GOOD, BAD, WARN, FAINT = "green", "red", "yellow", "dim"
_OP = 32  # width of an op's name
_COUNT = 9


class TallyDocument(Document):
    """The tests of one file, named as `ops/conv`."""

    op: str
    passed: int
    failed: int
    skipped: int
    xfailed: int
    xpassed: int


class FailureDocument(Document):
    test: str
    op: str
    error: str


class RemarkDocument(Document):
    test: str
    reason: str


class ConformanceDocument(ResultDocument):
    """`cmbuild conformance`; `error`, `hint` and `exit_code` are present only if it failed.

    `xfailed` are failures that the tests' authors expect, `xpassed` are unexpected passes.
    """

    verbs = ("conformance",)
    board: str
    target: str
    isa: str
    machine: str
    suite: str
    passed: int
    failed: int
    skipped: int
    xfailed: int
    xpassed: int
    per_op: tuple[TallyDocument, ...]
    failures: tuple[FailureDocument, ...]
    skips: tuple[RemarkDocument, ...]
    unexpected_passes: tuple[RemarkDocument, ...]
    steps: tuple[StepDocument, ...]
    artifacts: dict[str, Path]


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """Implements Report."""

    result: ConformanceResult

    def screen(self) -> Text:
        run = self.result
        lines = [_verdict(run), Text(), *_table(per_op(run.results))]
        lines += _section("failed", BAD, run.of(CaseOutcome.FAILED))
        lines += _section("skipped", WARN, run.of(CaseOutcome.SKIPPED))
        lines += _section("passed, expected to fail", WARN, run.of(CaseOutcome.XPASSED))
        return Text("\n").join(lines)

    def document(self, steps: Sequence[StepOutcome]) -> ConformanceDocument:
        run = self.result
        return ConformanceDocument.of(
            run,
            steps,
            **{outcome.value: len(run.of(outcome)) for outcome in CaseOutcome},
            per_op=tuple(
                TallyDocument(op=tally.op, **{each.value: tally[each] for each in CaseOutcome})
                for tally in per_op(run.results)
            ),
            failures=tuple(
                FailureDocument(test=result.test, op=result.op, error=result.reason)
                for result in run.of(CaseOutcome.FAILED)
            ),
            skips=_remarks(run.of(CaseOutcome.SKIPPED)),
            unexpected_passes=_remarks(run.of(CaseOutcome.XPASSED)),
        )


def _verdict(run: ConformanceResult) -> Text:
    failed, passed = run.of(CaseOutcome.FAILED), len(run.of(CaseOutcome.PASSED))
    mark = ("  ✗ does NOT conform", BAD) if failed else ("  ✓ conforms", GOOD)
    return Text.assemble(
        mark, f": {passed} passed, {len(failed)} failed of {run.suite}'s tests on {run.board}"
    )


def _table(tallies: Sequence[Tally]) -> Iterator[Text]:
    yield Text(_row("", [outcome.value for outcome in CaseOutcome]), FAINT)
    for tally in tallies:
        counts = [str(tally[outcome] or "·") for outcome in CaseOutcome]
        yield Text(_row(tally.op, counts), BAD if tally[CaseOutcome.FAILED] else "")
    totals = [str(sum(tally[outcome] for tally in tallies)) for outcome in CaseOutcome]
    yield Text(_row("all", totals))


def _row(op: str, cells: Sequence[str]) -> str:
    return f"  {text.fit(op, _OP):<{_OP}}" + "".join(f"{cell:>{_COUNT}}" for cell in cells)


def _section(title: str, style: str, results: Sequence[CaseVerdict]) -> Iterator[Text]:
    """Each test with its reason; tests of a file that share one are one entry."""
    if not results:
        return
    yield Text()
    yield Text(f"  {title}", style)
    together: dict[tuple[str, str], list[CaseVerdict]] = {}
    for result in results:
        together.setdefault((result.op, result.reason), []).append(result)
    for (op, reason), same in together.items():
        names = ", ".join(_name(result) for result in same)
        yield Text(text.indented(f"{op}: {names}", 4))
        yield Text(text.indented(reason, 6), FAINT)


def _name(result: CaseVerdict) -> str:
    return result.test.partition("::")[2] or "the whole file"


def _remarks(results: Sequence[CaseVerdict]) -> tuple[RemarkDocument, ...]:
    return tuple(RemarkDocument(test=result.test, reason=result.reason) for result in results)
