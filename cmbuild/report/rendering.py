"""Results as reports: a `FlashResult` is shown by `FlashReport` of this package's `flash`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from rich.text import Text

    from cmbuild.pipeline.events import StepOutcome
    from cmbuild.report.documents import Document


@runtime_checkable
class Report(Protocol):
    """A command's results, for people and for programs."""

    def screen(self) -> Text:
        """Lines of at most 80 columns that read well without colour."""

    def document(self, steps: Sequence[StepOutcome]) -> Document:
        """The JSON document; `steps` are those that led to it."""


def reports(results: Sequence[object]) -> list[Report]:
    """The reports of results; a report is its own."""
    return [each if isinstance(each, Report) else _report(each) for each in results]


def title(report: Report, results: Sequence[object]) -> str:
    """A heading for one of several results, if its report has one."""
    name = getattr(report, "title", None)
    return f"  {name}\n" if name is not None and len(results) > 1 else ""


def _report(result: object) -> Report:
    name = type(result).__name__.removesuffix("Result")
    module = import_module(f"cmbuild.report.{name.lower()}")
    report = getattr(module, f"{name}Report")(result)
    assert isinstance(report, Report)
    return report
