"""pytest plugin of `cmbuild conformance`: prints each result on standard output as a line of JSON.

A test file is skipped if it needs a download or a package that is not available; the reason says
which. A test that passes though it is marked to fail is not a failure, even with a strict mark.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from urllib.error import URLError

import pytest

from cmbuild.conformance.results import CaseOutcome, CaseVerdict, Collected, Event

_OWN = ("cmbuild", "cmcompiler", "executorch", "torch")
"""Packages whose absence, or the absence of one of their modules, is a failure."""
_STRICT = "[XPASS(strict)] "
_LONGEST = 300


# Exports make many small objects that stay alive: with Python's default of 700, a quarter of the
# time goes into searching them for cycles.
_OBJECTS_BETWEEN_COLLECTIONS = 200_000


def pytest_configure(config: pytest.Config) -> None:
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])
    # Workers report to the process that started them.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder())


def pytest_collection_finish() -> None:
    """Objects made by imports stay alive to the end."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    call = getattr(report, "call", None)
    error = call.excinfo.value if call is not None and call.excinfo else None
    if report.failed and error is not None and (reason := missing(error)):
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: {reason}")
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    said = report.longrepr
    if report.failed and isinstance(said, str) and said.startswith(_STRICT):
        report.outcome = "passed"
        report.wasxfail = said.removeprefix(_STRICT)
        report.longrepr = None
    return report


def missing(error: BaseException) -> str | None:
    """The module that an import lacked, unless that is part of the suite itself."""
    for each in _chain(error):
        if isinstance(each, URLError):
            return f"needs a download: {each.reason}"
        if isinstance(each, ModuleNotFoundError) and each.name is not None:
            package = each.name.partition(".")[0]
            if package not in _OWN:
                return f"needs the package {package}"
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@dataclass
class Recorder:
    """Combines the phases of each test: setup, call, and teardown."""

    running: dict[str, CaseVerdict] = field(default_factory=dict)
    collected: int = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        # Workers cannot report an invalid -k, and xdist considers them crashed.
        config = session.config
        config.hook.pytest_collection_modifyitems(session=session, config=config, items=[])

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        _tell(Collected(tests=len(session.items)))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: list[str]) -> None:
        if not self.collected:
            self.collected = len(ids)
            _tell(Collected(tests=len(ids)))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:
            outcome = CaseOutcome.SKIPPED if report.skipped else CaseOutcome.FAILED
            _tell(_result(report, report.nodeid, outcome))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "context"):
            return  # a subtest: its test fails with it
        phase = _result(report, report.nodeid, _outcome(report))
        before = self.running.get(report.nodeid)
        seconds = report.duration + (before.seconds if before else 0.0)
        if before is not None and (phase.outcome is CaseOutcome.PASSED or _is_bad(before)):
            phase = before
        self.running[report.nodeid] = phase.model_copy(update={"seconds": seconds})
        if report.when not in ("setup", "call"):  # the last phase, or none: a worker that crashed
            _tell(self.running.pop(report.nodeid))


def _is_bad(result: CaseVerdict) -> bool:
    return result.outcome is CaseOutcome.FAILED


def _outcome(report: pytest.TestReport) -> CaseOutcome:
    expected = hasattr(report, "wasxfail")
    if report.skipped:
        return CaseOutcome.XFAILED if expected else CaseOutcome.SKIPPED
    if report.passed:
        return CaseOutcome.XPASSED if expected else CaseOutcome.PASSED
    return CaseOutcome.FAILED


def _result(
    report: pytest.TestReport | pytest.CollectReport, test: str, outcome: CaseOutcome
) -> CaseVerdict:
    failed = outcome is CaseOutcome.FAILED
    return CaseVerdict(
        test=test.replace("\\", "/"),
        outcome=outcome,
        reason=_one_line(_reason(report)),
        details=report.longreprtext if failed else "",
    )


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if expected := getattr(report, "wasxfail", None):
        return str(expected).removeprefix("reason: ")
    said = report.longrepr
    if isinstance(said, tuple):
        return said[2].removeprefix("Skipped: ")
    crash = getattr(said, "reprcrash", None)
    if crash is not None:
        return str(crash.message)
    lines = [line for line in str(said or "").splitlines() if line.strip()] or [""]
    if report.when == "collect":
        # pytest's report on a file that it cannot import ends with the error, after an E.
        return lines[-1].removeprefix("E").strip()
    return lines[0].removeprefix("error: ")


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _tell(event: Event) -> None:
    print(event.model_dump_json(), file=sys.__stdout__, flush=True)
