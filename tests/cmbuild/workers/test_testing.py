"""Tests end the same way on workers as on one machine."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from harness.commands import Commands, shared_cache
from harness.suite import FOLDER, with_small_suite

from cmbuild.conformance.request import ConformanceRequest
from cmbuild.pipeline.options import compose
from cmbuild.workers.testing import SuiteUnit, _merged

WORDS = ("conformance", "--board", "native", "--json", "-k", "maximum or phases", "--workers", "1")


@pytest.fixture
def cmbuild(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Commands:
    return Commands(tmp_path, shared_cache(tmp_path_factory), with_small_suite())


@pytest.mark.long
def test_workers_give_the_same(cmbuild: Commands) -> None:
    spread = cmbuild(*WORDS, "--junit", "junit.xml")
    alone = cmbuild(*WORDS[:-2], "-n", "1")
    assert (spread.exit_code, alone.exit_code) == (1, 1), spread.stderr
    same = (*("passed", "failed", "skipped", "xfailed", "xpassed"), "per_op", "skips")
    assert [spread.document[key] for key in same] == [alone.document[key] for key in same]
    assert spread.document["failures"] == alone.document["failures"]
    assert spread.document["error"] == "6 tests failed on native"
    cases = ElementTree.parse(cmbuild.folder / "junit.xml").iter("testcase")
    assert len({case.get("name") for case in cases}) >= spread.document["passed"] + 5


@pytest.mark.long
def test_no_such_test_is_one_line(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    suite = tmp_path / "suite"
    shutil.copytree(FOLDER, suite)
    for file in suite.rglob("test_broken.py"):  # fails whatever is asked for
        file.unlink()
    cmbuild = Commands(tmp_path, shared_cache(tmp_path_factory), with_small_suite(suite))
    result = cmbuild("conformance", "--board", "native", "-k", "nothing_so", "--workers", "1")
    assert result.exit_code == 2
    assert "no test matches -k 'nothing_so'" in result.stderr


def request(board: str) -> ConformanceRequest:
    return compose(ConformanceRequest, board=board, build_dir=Path("build"))


def test_units_differ_by_board_and_files() -> None:
    files = ("ops/test_add.py", "ops/test_mul.py")
    units = [SuiteUnit(request("native")), SuiteUnit(request("native"), files)]
    units.append(SuiteUnit(request("corstone300"), files))
    assert len({unit.key for unit in units}) == 3
    assert units[1].key == SuiteUnit(request("native"), files).key
    assert [unit.step.subject for unit in units[:2]] == ["all kernels on native", "add to mul"]


def test_reports_of_units_are_one_report() -> None:
    suite = '<testsuites><testsuite tests="1"><testcase name="{}" /></testsuite></testsuites>'
    merged = ElementTree.fromstring(_merged([suite.format("a"), suite.format("b")]))
    assert [case.get("name") for case in merged.iterfind("testsuite/testcase")] == ["a", "b"]
