"""ExecuTorch's own tests, a few files of them a unit, and their verdicts brought together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from cmbuild.cache.fingerprint import fingerprint
from cmbuild.conformance.request import ConformanceRequest
from cmbuild.conformance.results import CaseOutcome, CaseVerdict
from cmbuild.conformance.stages import RESULTS, ConformanceStage
from cmbuild.errors import CmbuildError
from cmbuild.files import write
from cmbuild.outputs.delivery import deliver
from cmbuild.pipeline.events import WorkStep
from cmbuild.pipeline.session import Session
from cmbuild.tasks.run import run as make
from cmbuild.workers.choice import WorkersChoice
from cmbuild.workers.distribution import perform, workers_build
from cmbuild.workers.results import Answer
from cmbuild.workers.units import OpenSession

_FILES = 4
"""Files of tests of a unit: more would leave workers idle at the end, fewer import torch often."""

_JUNIT = "junit.xml"


@dataclass(frozen=True, slots=True)
class SuiteFound:
    """
    Attributes:
        verdicts: in the order of the tests.
        junit: the same as JUnit XML, if it is wanted.
    """

    verdicts: tuple[CaseVerdict, ...] = ()
    junit: str | None = None


@dataclass(frozen=True, slots=True)
class SuiteUnit:
    """Files of tests on a board; with none, what all of them need.

    Attributes:
        files: below the folder of the suite.
    """

    request: ConformanceRequest
    tests: tuple[str, ...] = ()

    @property
    def files(self) -> dict[str, str]:
        """None of the user's: versions of executorch are compared before."""
        return {}

    @property
    def step(self) -> WorkStep:
        if not self.tests:
            return WorkStep("harness", f"all kernels on {self.request.place.board}", "linked")
        names = [Path(name).stem.removeprefix("test_") for name in self.tests]
        first, last = names[0], names[-1]
        return WorkStep("tests", first if first == last else f"{first} to {last}", "ran")

    @property
    def key(self) -> str:
        return f"tests-{fingerprint(request=repr(self.request), tests=list(self.tests))}"

    def perform(self, open_session: OpenSession) -> Answer[SuiteFound]:
        request, answers = self._placed(), SuiteFound()
        with open_session(request.folder / "logs") as session:
            stage = ConformanceStage.of(session.pipeline, request, self.tests)
            make(session, [stage] if self.tests else stage.after, [request.folder])
            if stage.result is not None:
                junit = None if request.junit is None else request.junit.read_text()
                return Answer.of(SuiteFound(tuple(stage.result.results), junit), None)
        return Answer.of(answers, session.failures.first)

    def failed(self, failure: CmbuildError) -> Answer[SuiteFound]:
        return Answer.of(None, failure)

    def _placed(self) -> ConformanceRequest:
        """In a folder of the worker's own, since several units are for the same board."""
        folder = self.request.build_dir / "workers" / str(os.getpid())
        junit = None if self.request.junit is None else folder.absolute() / _JUNIT
        return replace(self.request, build_dir=folder, junit=junit)


def suite_on_workers(
    session: Session, request: ConformanceRequest, choice: WorkersChoice
) -> ConformanceStage:
    """The stage with its result, as if it had run here.

    Raises:
        NoSuchTests: no file has a test that the request names.
        CmbuildError: of the first unit that failed, or see `perform`; not of tests that fail.
    """
    stage = ConformanceStage.of(session.pipeline, replace(request, jobs=1))
    there = replace(request, build_dir=workers_build(request.build_dir, choice), jobs=1)
    files, needed = stage.suite.files, SuiteUnit(there)
    units = [
        SuiteUnit(there, tuple(files[start : start + _FILES]))
        for start in range(0, len(files), _FILES)
    ]
    answers = dict(perform(session, choice, units, [(needed,)] * len(units)))
    parts: list[SuiteFound] = []
    for index in range(len(units)):
        answer = answers[index]
        assert isinstance(answer, Answer)
        if answer.failure is not None:
            raise answer.failure
        assert answer.value is not None
        parts.append(answer.value)
    verdicts = [verdict for each in parts for verdict in each.verdicts]
    if all(each.outcome is CaseOutcome.SKIPPED and "::" not in each.test for each in verdicts):
        raise stage.no_such_tests(verdicts)
    lines = "".join(f"{verdict.model_dump_json()}\n" for verdict in verdicts)
    write(stage.entry.folder / RESULTS, lines)
    stage.conclude(stage.entry.folder, verdicts)
    if request.junit is not None:
        merged = _merged([each.junit for each in parts if each.junit])
        deliver({request.junit: merged.encode()}, request.force)
    return stage


def _merged(documents: Sequence[str]) -> str:
    """One document with the suites of all."""
    root = ElementTree.Element("testsuites")
    for document in documents:
        root.extend(ElementTree.fromstring(document))
    return ElementTree.tostring(root, encoding="unicode")
