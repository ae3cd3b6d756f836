"""tests: ExecuTorch's own tests of its Cortex-M backend, their programs run on a board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING

from cmbuild.cache.store import Entry
from cmbuild.conformance.harness_image import HarnessStage
from cmbuild.conformance.results import (
    CaseOutcome,
    CaseVerdict,
    Collected,
    ConformanceResult,
    read_event,
)
from cmbuild.conformance.suite import Suite, find_suite
from cmbuild.errors import Failed, UsageError
from cmbuild.launchers.base import Launcher
from cmbuild.launchers.selection import choose
from cmbuild.outputs.delivery import check_delivery, deliver
from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.events import Portion
from cmbuild.pipeline.stages.stage import RepeatedStage, StageKind
from cmbuild.process import python_module
from cmbuild.text import plural

if TYPE_CHECKING:
    from cmbuild.conformance.request import ConformanceRequest
    from cmbuild.pipeline.pipeline import Pipeline

RESULTS = "results.jsonl"
FAILURES = "failures.txt"
_JUNIT = "junit.xml"

# For all tests; a hundredth of it is usual. Each program has its own limit.
_SECONDS = 12 * 3600.0

# pytest's exit statuses for an invalid request, and for one that matches no test.
_USAGE, _NO_TESTS = 4, 5


class TestsFailed(Failed):
    template = "{failed} failed on {board}"
    hint = "{failures} has the output of each"


class NoSuchTests(UsageError):
    template = "no test matches -k {expression!r}"


class ConformanceStage(RepeatedStage):
    """A run of the tests, never cached."""

    kind = StageKind.TESTS
    verb = "ran"
    result: ConformanceResult | None = None

    def __init__(
        self,
        suite: Suite,
        image: HarnessStage,
        request: ConformanceRequest,
        context: WorkContext,
        folder: Path,
        *,
        tests: Sequence[str] = (),
    ) -> None:
        """
        Args:
            folder: of the run.
            tests: files below the folder of the suite, in none of which there need be a test; all
                if empty.
        """
        self.name = image.name
        self.subject = f"executorch {suite.version}'s on {image.board.name}"
        self.after = (image,)
        self.suite = suite
        self._tests = tests
        self._image = image
        self._request = request
        self._context = context
        self._folder = folder

    @classmethod
    def of(
        cls, pipeline: Pipeline, request: ConformanceRequest, tests: Sequence[str] = ()
    ) -> ConformanceStage:
        """
        Args:
            tests: files of the suite; all if empty.

        Raises:
            UsageError: an unknown board, instruction set or toolchain.
            BrokenFile: a descriptor is not valid.
            Missing: a package that the tests need is not installed.
        """
        image = HarnessStage.of(pipeline, request.place)
        suite = find_suite(parallel=request.jobs > 1)
        return cls(suite, image, request, pipeline.context, request.folder, tests=tests)

    @cached_property
    def launcher(self) -> Launcher:
        return choose(self._image.board, self._request.launcher)

    @property
    def entry(self) -> Entry:
        return Entry(self._folder / "tests")

    def check(self) -> None:
        """Raises NotOverwritten, UsageError: see `check_delivery`."""
        check_delivery([self._request.junit], self._request.force)

    def make(self, folder: Path) -> None:
        with (folder / RESULTS).open("w") as file:
            results = self._run(folder, file)
        if self._request.junit is not None:
            deliver({self._request.junit: folder / _JUNIT}, self._request.force)
        self.conclude(folder, results)

    def conclude(self, folder: Path, results: Sequence[CaseVerdict]) -> None:
        """Reports the failures in a file of the folder, and makes the result."""
        failures = [each for each in results if each.outcome is CaseOutcome.FAILED]
        (folder / FAILURES).write_text(
            "\n".join(f"{each.test}\n\n{each.details}\n" for each in failures)
        )
        self.result = ConformanceResult(
            board=self._image.board.name,
            target=self._image.board.cpu,
            isa=self._image.library.target.isa.label,
            machine=self.launcher.title,
            suite=f"executorch {self.suite.version}",
            results=tuple(results),
            artifacts={"results": self.entry.folder / RESULTS}
            | ({"junit": self._request.junit.absolute()} if self._request.junit else {}),
        )

    def verdict(self) -> TestsFailed | None:
        failures = [] if self.result is None else self.result.of(CaseOutcome.FAILED)
        if not failures:
            return None
        return TestsFailed(
            failed=plural(len(failures), "test"),
            board=self._image.board.name,
            failures=self.entry.folder / FAILURES,
        )

    def _run(self, folder: Path, file: IO[str]) -> list[CaseVerdict]:
        results: list[CaseVerdict] = []
        total = 0

        def listen(line: str) -> None:
            nonlocal total
            event = read_event(line)
            if isinstance(event, Collected):
                total = event.tests
            elif event is not None:
                results.append(event)
                file.write(f"{line}\n")
                failed = sum(result.outcome is CaseOutcome.FAILED for result in results)
                text = f"{len(results)} of {total}, {failed} failed"
                share = Portion(len(results) / max(1, total))
                self._context.progress(self.step, text, share)

        settings = folder / "pytest.ini"
        settings.write_text("[pytest]\n")
        completed = self._context.processes.run(
            [*python_module("pytest"), *self._arguments(settings)],
            log=self._context.logs / "tests.txt",
            timeout=_SECONDS,
            cwd=folder,
            env=self._environment(),
            check=False,
            listener=listen,
            name="pytest",
        )
        if completed.status == _USAGE:
            raise UsageError(message=completed.failure("pytest").message)
        if completed.status == _NO_TESTS and not self._tests:
            raise self.no_such_tests(results)
        if completed.status not in (0, 1, _NO_TESTS):
            raise completed.failure("pytest")
        return results

    def no_such_tests(self, results: Sequence[CaseVerdict]) -> NoSuchTests:
        """The error if no test ran, given those that were skipped."""
        skipped = "; ".join(f"{result.op}: {result.reason}" for result in results)
        hint = f"whole files were skipped: {skipped}" if skipped else None
        return NoSuchTests(expression=self._request.expression or "", hint=hint)

    def _arguments(self, settings: Path) -> Sequence[str | Path]:
        request, place = self._request, self._request.place
        return [
            *(self.suite.folder / name for name in self._tests or ("",)),
            # Ignores the user's settings, and writes nothing beside the tests.
            *("-c", settings, "--rootdir", self.suite.folder),
            *("--basetemp", self._folder / "programs"),
            *("-p", "no:cacheprovider", "-p", "no:terminal"),
            *("-p", "cmbuild.conformance.plugin", "-p", "cmbuild.conformance.recorder"),
            *("--cmbuild-board", place.board, "--cmbuild-launcher", self.launcher.name),
            *(("--cmbuild-isa", place.isa) if place.isa else ()),
            *(("--cmbuild-toolchain", place.toolchain) if place.toolchain else ()),
            "--continue-on-collection-errors",
            *(("-k", request.expression) if request.expression else ()),
            *(("-p", "xdist", "-n", str(request.jobs)) if request.jobs > 1 else ()),
            *(("--junitxml", settings.parent / _JUNIT) if request.junit else ()),
        ]

    def _environment(self) -> Mapping[str, str]:
        limits = {"OMP_NUM_THREADS": "1"} if self._request.jobs > 1 else {}
        return limits | {
            "PYTEST_ADDOPTS": "",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
