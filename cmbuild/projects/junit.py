"""The results of a check as JUnit XML: a test case for each run, and for each limit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from cmbuild.projects.check import CheckedUnit, Finding

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(results: Sequence[CheckedUnit]) -> str:
    """The file's text."""
    root = Xml.Element("testsuites")
    for each in results:
        suite = Xml.SubElement(root, "testsuite", name=_clean(each.unit.title))
        cases = [_run(suite, each), *(_limit(suite, each, finding) for finding in each.findings)]
        suite.set("tests", str(len(cases)))
        suite.set("failures", str(cases.count(False)))
        suite.set("errors", "0")
        suite.set("skipped", "0")
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, "unicode") + "\n"


def _run(suite: Xml.Element, unit: CheckedUnit) -> bool:
    return _case(suite, unit, "verified", unit.failure)


def _limit(suite: Xml.Element, unit: CheckedUnit, finding: Finding) -> bool:
    metric, problem = finding.metric, finding.explained
    if problem is not None and finding.value is not None:
        problem = (
            f"{metric.written(finding.value)}, limit {metric.written(finding.limit)}: {problem}"
        )
    return _case(suite, unit, metric.name, problem)


def _case(suite: Xml.Element, unit: CheckedUnit, name: str, problem: str | None) -> bool:
    owner = _clean(f"{unit.unit.model}.{unit.unit.board}")
    case = Xml.SubElement(suite, "testcase", classname=owner, name=name)
    if problem is not None:
        Xml.SubElement(case, "failure", message=_clean(f"{name}: {problem}"))
    return problem is None


def _clean(text: str) -> str:
    """Without characters that XML does not have."""
    return _FORBIDDEN.sub("\ufffd", text)
