"""`cmbuild conformance`: on a small suite where tests end in every way, and on ExecuTorch's own."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from harness.commands import Commands, Result
from harness.processes import wait_until_over
from harness.suite import FOLDER, with_small_suite

from cmbuild.cli import main

WORDS = ("conformance", "--board", "native")

FAILURES = {
    "misc/test_broken.py": "ImportError: cannot import name 'what_is_not_there' from ",
    "misc/test_phases.py::test_before": "RuntimeError: not even begun",
    "misc/test_phases.py::test_after": "RuntimeError: not cleaned up",
    "ops/test_maximum.py::test_unsupported": "no kernel for 1 operator: aten::_cdist_forward",
    "ops/test_maximum.py::test_wrong_kernel": "1 of 1 outputs differ from the reference, first at "
    "op 2, maximum (cortex_m::maximum.out #2): 6 of 6 elements",
    "ops/test_maximum.py::test_wrong_program": "AssertionError: Output 0 does not match reference ",
}
"""What fails of the small suite, and how the reasons begin."""


@pytest.fixture(scope="module")
def result(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """What the small suite comes to, in two processes."""
    commands = Commands(tmp_path_factory.mktemp("small"), cache, with_small_suite())
    return commands(*WORDS, "-n", "2", "--json", "--junit", "junit.xml")


def test_every_way_to_end_is_told(result: Result) -> None:
    document = result.document
    counts = ("passed", "failed", "skipped", "xfailed", "xpassed")
    assert [document[name] for name in counts] == [2, 6, 3, 1, 1]
    assert document["per_op"] == [
        dict(zip(("op", *counts), row, strict=True))
        for row in (
            ("misc/broken", 0, 1, 0, 0, 0),
            ("misc/package", 0, 0, 1, 0, 0),
            ("misc/phases", 1, 2, 1, 0, 0),
            ("ops/download", 0, 0, 1, 0, 0),
            ("ops/maximum", 1, 3, 0, 1, 1),
        )
    ]
    failures = {failure["test"]: failure["error"] for failure in document["failures"]}
    assert failures.keys() == FAILURES.keys()
    assert all(failures[test].startswith(reason) for test, reason in FAILURES.items())
    assert {skip["test"]: skip["reason"] for skip in document["skips"]} == {
        "misc/test_package.py": "needs the package a_package_that_nobody_has",
        "misc/test_phases.py::test_skipped": "somebody has to write it",
        "ops/test_download.py": "needs a download: [Errno 111] Connection refused",
    }
    assert document["unexpected_passes"] == [
        {
            "test": "ops/test_maximum.py::test_better_than_expected",
            "reason": "they say it cannot pass",
        }
    ]


def test_failures_are_the_status(result: Result) -> None:
    document = result.document
    assert (result.exit_code, document["exit_code"]) == (1, 1)
    assert result.stderr.splitlines()[-2] == "error: 6 tests failed on native"
    assert document["board"] == "native"
    assert [step["name"] for step in document["steps"]] == ["libs", "harness", "tests"]


def test_files_hold_the_results(result: Result) -> None:
    artifacts = result.document["artifacts"]
    lines = Path(artifacts["results"]).read_text().splitlines()
    assert len(lines) == 13
    assert {"passed", "failed", "skipped"} < {json.loads(line)["outcome"] for line in lines}
    said = (Path(artifacts["results"]).parent / "failures.txt").read_text()
    assert all(test in said for test in FAILURES)
    assert "raise RuntimeError" in said
    totals = next(ElementTree.parse(artifacts["junit"]).iter("testsuite")).attrib
    assert int(totals["failures"]) + int(totals["errors"]) == 6


def test_small_part_of_the_real_suite(cmbuild: Commands) -> None:
    chosen = "test_implementation_maximum or test_target_config or wav2letter"
    result = cmbuild("conformance", "-b", "corstone300", "-k", chosen, "-n", "1")
    assert (result.exit_code, result.stderr) == (0, "")
    results = cmbuild.folder / "build" / "conformance" / "corstone300" / "tests" / "results.jsonl"
    outcomes = [json.loads(line) for line in results.read_text().splitlines()]
    passed = {line["test"] for line in outcomes if line["outcome"] == "passed"}
    programs = {test for test in passed if "test_implementation_maximum[cortex-m55-" in test}
    assert len(programs) == 5
    assert any(test.startswith("misc/test_target_config.py::") for test in passed)
    assert "✓ conforms" in result.stdout
    assert "ops/maximum                             5        ·" in result.stdout


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("-b", "corstone30"), "error: unknown board 'corstone30'\n  try: did you mean "),
        (("-b", "native", "--isa", "mve"), "error: native does not support instruction set 'mve'"),
        (("-b", "native", "--launcher", "qmu"), "error: unknown launcher of native 'qmu'"),
        (("-b", "native", "-n", "0"), "error: invalid value for '--jobs' / '-j' / '-n': '0' is"),
        (("-b", "native", "-k", "minimum("), "error: pytest failed with status 4: ERROR: Wrong "),
    ],
)
def test_requests_that_make_no_sense(cmbuild: Commands, words: tuple[str, ...], error: str) -> None:
    commands = replace(cmbuild, environment=with_small_suite())
    result = commands("conformance", *words)
    assert result.exit_code == 2
    assert result.stderr.startswith(error)


@pytest.mark.long
def test_no_test_that_matches(cmbuild: Commands) -> None:
    suite = cmbuild.folder / "suite"
    shutil.copytree(FOLDER, suite)
    next(suite.rglob("test_broken.py")).unlink()
    commands = replace(cmbuild, environment=with_small_suite(suite))
    result = commands(*WORDS, "-k", "no_such_thing")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "error: no test matches -k 'no_such_thing'\n  try: whole files were skipped: "
        "misc/package: needs the package a_package_that_nobody_has; ops/download: "
    )


@pytest.mark.parametrize("package", ["torch", "executorch", "pytest", "pytest-xdist"])
def test_missing_packages_are_named(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = importlib.util.find_spec
    module = {"pytest-xdist": "xdist"}.get(package, package)
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == module else real(name, *rest),
    )
    assert main([*WORDS, "-n", "2"]) == 3
    error = capsys.readouterr().err
    assert error.startswith(f"error: the Python package {package} is not installed\n  try: ")
    assert "[conformance]" in error


@pytest.mark.long
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupted_run_leaves_no_simulator_behind(cmbuild: Commands, jobs: str) -> None:
    note = cmbuild.folder / "pid"
    qemu = cmbuild.folder / "bin" / "qemu-system-arm"
    qemu.parent.mkdir()
    qemu.write_text(f'#!/bin/sh\necho $$ > "{note}"; exec sleep 600\n')
    qemu.chmod(0o755)
    path = f"{qemu.parent}{os.pathsep}{os.environ['PATH']}"
    commands = replace(cmbuild, environment={**with_small_suite(), "PATH": path})
    process = commands.start("conformance", "-b", "corstone300", "-k", "right", "-n", jobs)
    while not note.exists() or not note.read_text().strip():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate()
    assert (process.returncode, error) == (130, "error: interrupted\n")
    wait_until_over(int(note.read_text()))
