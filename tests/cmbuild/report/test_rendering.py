"""Reports of results, found by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.projects.project import Project
from cmbuild.report.models import ModelsReport
from cmbuild.report.rendering import Report, reports, title


class Titled:
    title = "mv2"


def test_a_report_is_its_own() -> None:
    report = ModelsReport((), Project(Path("/project")))
    assert isinstance(report, Report)
    assert reports([report]) == [report]


def test_a_result_without_a_report_is_a_mistake() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"cmbuild\.report\.titled"):
        reports([Titled()])


def test_only_one_of_several_has_a_title() -> None:
    one = Titled()
    assert title(one, [one]) == ""  # type: ignore[arg-type]
    assert title(one, [one, one]) == "  mv2\n"  # type: ignore[arg-type]
