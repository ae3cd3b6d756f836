from __future__ import annotations

import json
from dataclasses import replace

from harness.page import Page, assert_same_numbers
from harness.results import MV2

from cmbuild.pipeline.results import RunResult
from cmbuild.projects.comparison import Side, compare
from cmbuild.projects.figures import RunFigures
from cmbuild.projects.thresholds import thresholds
from cmbuild.report.compare import CompareReport
from cmbuild.report.html.compare_page import compare_page
from cmbuild.report.run import RunReport

FASTER = replace(
    MV2,
    instructions=replace(
        MV2.instructions,
        total=100_000_000,
        per_op=(replace(MV2.instructions.per_op[0], instructions=50_000_000),),
    ),
)


def figures(run: RunResult) -> RunFigures:
    return RunFigures.model_validate_json(RunReport(run).document(()).model_dump_json())


def page(limits: dict[str, str | None] | None = None) -> tuple[str, dict[str, object]]:
    title = "mv2 on corstone300"
    before = Side("HEAD~1", {title: figures(MV2), "old on native": figures(MV2)})
    after = Side("now", {title: figures(FASTER)}, {"new on native": "fault </p>"})
    compared = compare(before, after, thresholds(limits or {}))
    return compare_page(compared), json.loads(
        CompareReport(compared).document(()).model_dump_json()
    )


def test_numbers_are_those_of_json() -> None:
    html, document = page()
    parsed = Page(html)
    assert (parsed.open, parsed.addresses, parsed.embedded) == ([], [], document)
    assert_same_numbers(parsed.numbers, document)
    assert {"runs.0.metrics.0.before", "runs.0.metrics.4.after"} <= parsed.numbers.keys()


def test_what_changed_is_told_beside_its_bars() -> None:
    html, _ = page({"flash": "-5%"})
    for words in (
        "141,234,567 → 100,000,000 (-29.20 %)",
        "88.1 M → 50.0 M (-43.2 %)",
        "38.2 M → –",
        "3.52 MB, same",
        "flash beyond -5%",
        "Only before: old on native.",
        "new on native in now: fault &lt;/p&gt;",
    ):
        assert words in html, words
