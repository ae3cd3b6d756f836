"""Precision by need, from the command line to the record of the export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.commands import Commands

from cmbuild.mixing.choice import Bracket

NET = """\
from types import SimpleNamespace

import torch
from torch import nn


def make():
    torch.manual_seed(3)
    module = nn.Sequential(nn.Linear(24, 40), nn.ReLU(), nn.Linear(40, 12)).eval()
    inputs = list(torch.randn(48, 1, 24))
    labels = module(torch.cat(inputs[-16:])).argmax(1)
    return SimpleNamespace(
        module=module,
        example_inputs=inputs[0],
        calibration=inputs,
        samples=torch.stack(inputs[-16:]),
        labels=labels,
    )
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    """All needs share the exports."""
    commands = Commands.in_folder_of(tmp_path_factory.mktemp("need"), tmp_path_factory)
    (commands.folder / "net.py").write_text(NET)
    return commands


def test_limits_close_in_from_both_sides() -> None:
    bracket = Bracket()
    assert bracket.lowered(50.0, 34.0) == 34.0
    assert bracket.raised(34.0, 46.0) == 46.0
    assert bracket.lowered(46.0, 33.0) == 40.0
    assert bracket.raised(40.0, 47.0) == 43.0
    bracket.raised(43.0, 45.9)
    assert bracket.lowered(45.8, 40.0) == pytest.approx(44.4)
    assert bracket.lowered(43.2, 40.0) is None


def test_the_cheapest_mix_that_keeps_the_decibels(project: Commands) -> None:
    words = ("build", "net.py:make", "--board", "native", "--snr", "43", "--json")
    result = project(*words)
    assert result.exit_code == 0, result.stderr
    mix = json.loads(result.stdout)["mix"]
    (need,) = mix["needs"]
    assert need["option"] == "--snr" and need["met"] and need["has"] >= 43
    assert [part["layer"] for part in mix["parts"]] == ["0", "2"]
    assert "8w16a" in mix["precision"].values()
    assert mix["cycles"] > mix["plain_cycles"] and mix["samples"] == 8
    # The same again, and the program's own record says what was chosen.
    again = json.loads(project(*words).stdout)["mix"]
    assert again == mix
    program = Path(json.loads(result.stdout)["artifacts"]["program"])
    record = json.loads((program.parent / "export.json").read_text())
    assert dict(record["precision"]) == mix["precision"]


@pytest.mark.long
def test_several_needs_at_once(project: Commands) -> None:
    words = ("build", "net.py:make", "--board", "native", "--json")
    plain = json.loads(project(*words, "--snr", "10").stdout)
    assert "8w16a" not in plain["mix"]["precision"].values()
    weights = plain["memory"]["flash"]["weights"]
    budget = weights - 300
    result = project(
        *(*words, "--accuracy-drop", "20%", "--flash-budget", str(budget), "--ram-budget", "8K")
    )
    assert result.exit_code == 0, result.stderr
    document = json.loads(result.stdout)
    names = [need["option"] for need in document["mix"]["needs"]]
    assert names == ["--accuracy-drop", "--flash-budget", "--ram-budget"]
    assert document["memory"]["flash"]["weights"] <= budget


def test_every_verb_that_exports_takes_needs(project: Commands, tmp_path: Path) -> None:
    needs = ("--snr", "43", "--json")
    built = json.loads(project("build", "net.py:make", "--board", "native", *needs).stdout)["mix"]
    for words in (
        ("export", "net.py:make", "--target", "cortex-m55"),
        ("eval", "net.py:make", "--board", "native"),
        ("package", "net.py:make", "--target", "cortex-m55", "-o", str(tmp_path / "package")),
        ("fit", "net.py:make", "--board", "corstone300"),
        ("bench", "--models", "net.py:make", "--boards", "native"),
    ):
        result = project(*words, *needs)
        assert result.exit_code == 0, (words, result.stderr)
        document = json.loads(result.stdout)
        (told,) = document.get("fits", document.get("cells", [document]))
        mix = (told.get("result") or told)["mix"]
        assert mix["needs"][0]["met"] and "8w16a" in mix["precision"].values(), words
        if "native" in words:
            assert mix["precision"] == built["precision"], words


FILE = """\
[project]
boards = ["native"]

[models.kept]
source = "net.py:make"
needs = {snr = "43 dB"}
"""
MISSED = """
[models.missed]
source = "net.py:make"
needs = {snr = 120}
"""


def test_a_project_has_needs(project: Commands) -> None:
    file = project.folder / "cmbuild.toml"
    file.write_text(FILE)
    try:
        result = project("check", "--json")
        assert result.exit_code == 0, result.stderr
        (kept,) = json.loads(result.stdout)["units"]
        assert kept["failure"] is None
        built = project("build", "kept", "--board", "native", "--json")
        assert "8w16a" in json.loads(built.stdout)["mix"]["precision"].values()
    finally:
        file.unlink()


@pytest.mark.long
def test_a_need_of_a_project_that_nothing_keeps_fails(project: Commands) -> None:
    file = project.folder / "cmbuild.toml"
    file.write_text(FILE + MISSED)
    try:
        result = project("check", "--json")
        assert result.exit_code == 1
        kept, missed = json.loads(result.stdout)["units"]
        assert kept["failure"] is None
        assert missed["failure"].startswith("no mix of precisions keeps --snr 120.0 dB")
    finally:
        file.unlink()


def test_what_nothing_keeps_is_missed_by_the_nearest(project: Commands) -> None:
    result = project("build", "net.py:make", "--board", "native", "--snr", "120")
    assert result.exit_code == 1
    error, hint = result.stderr.splitlines()[-2:]
    assert error.startswith("error: no mix of precisions keeps --snr 120.0 dB: the nearest has ")
    assert hint == "  try: ask for less, or train with rounding: docs/accuracy.md"
    assert "✗ --snr 120.0 dB" in result.stdout
