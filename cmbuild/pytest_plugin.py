"""pytest plugin: the fixture `cmbuild`, for tests of a project's models on their boards.

def test_kws(cmbuild):
    assert cmbuild.run("kws", "rp2350").memory.flash.total < 200_000
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from cmbuild.accuracy import EvalResult
    from cmbuild.pipeline.results import BuildResult, RunResult

# pytest imports this in every session of an environment that has cmbuild: nothing heavy here.

R = TypeVar("R")


class ProjectUnderTest:
    """The models of the project that the tests are in, and any other.

    What was asked before is not done again: tests may look at one run as often as they like.
    """

    def __init__(self) -> None:
        self._known: dict[object, object] = {}

    def run(self, model: str, board: str, **options: Any) -> RunResult:
        """As `cmbuild.run`: verified, or the test fails."""
        from cmbuild.api.functions import run

        return self._once(run, model, board, options)

    def build(self, model: str, board: str, **options: Any) -> BuildResult:
        """As `cmbuild.build`."""
        from cmbuild.api.functions import build

        return self._once(build, model, board, options)

    def evaluate(self, model: str, board: str | None = None, **options: Any) -> EvalResult:
        """As `cmbuild.evaluate`."""
        from cmbuild.api.functions import evaluate

        return self._once(evaluate, model, board, options)

    def check(self, model: str, board: str) -> RunResult:
        """A run within the budget that the project has for it, or the test fails.

        Raises:
            BeyondBudget: naming each limit that it is beyond.
            UsageError: the project has no such model, or no budget for it on this board.
        """
        from cmbuild.projects.check import check_run

        result = self.run(model, board)
        check_run(result, model, board)
        return result

    def _once(
        self, function: Callable[..., R], model: str, board: str | None, options: dict[str, Any]
    ) -> R:
        key = (function, model, board, repr(sorted(options.items())))
        if key not in self._known:
            self._known[key] = function(model, board, **options)
        known: Any = self._known[key]
        result: R = known
        return result


@pytest.fixture(scope="session")
def cmbuild() -> ProjectUnderTest:
    """Runs, builds, evaluates and checks the project's models."""
    return ProjectUnderTest()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """cmbuild's errors are one line and a hint, not a traceback."""
    report = yield
    errors = sys.modules.get("cmbuild.errors")
    error = call.excinfo.value if call.excinfo else None
    if report.failed and errors is not None and isinstance(error, errors.CmbuildError):
        report.longrepr = error.lines
    return report
