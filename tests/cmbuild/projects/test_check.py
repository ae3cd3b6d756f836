"""Models of a project on their boards, against their budgets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from cmbuild.errors import UnknownName
from cmbuild.projects.check import (
    CheckedUnit,
    CheckFailed,
    NoBoards,
    NoBudgets,
    NoModels,
    Unit,
    budgeted,
    findings,
    units,
    verdict,
)
from cmbuild.projects.figures import RunFigures
from cmbuild.projects.file import BudgetFile
from cmbuild.projects.junit import to_junit
from cmbuild.projects.project import Project, find_project
from cmbuild.report.check import CheckReport
from cmbuild.strictfile import BrokenFile

SOFTMAX = {
    "name": "softmax (attend)",
    "file": "/home/me/net.py",
    "line": 21,
    "snr_db": 23.5,
    "cause": "its logits span 698 in 255 steps",
    "remedy": "scale or clamp before it",
}


def figures(**changes: object) -> RunFigures:
    """Those of a run: 1,000 instructions, 93 % of 200 samples."""
    return RunFigures.model_validate(
        {
            "model": "kws",
            "board": "rp2350",
            "verified": True,
            "accuracy": {"reference": 0.93, "samples": 200},
            "faithful": True,
            "fidelity": {"snr_db": 38.4, "coarsest": SOFTMAX},
            "float": {"share": 0.0},
            "instructions": {
                "total": 1000,
                "unit": "instructions",
                "per_op": [
                    {"title": "linear", "source": "a #1", "kernel": "k", "instructions": 700},
                    {"title": "linear", "source": "a #2", "kernel": "k", "instructions": 200},
                    {"title": "add", "source": "b #3", "kernel": "k", "instructions": 100},
                ],
            },
            "cycles": {"total": 1500, "milliseconds": 0.01},
            "memory": {
                "flash": {"code": 1000, "weights": 24, "total": 1024},
                "ram": {"arena": 128, "static": 100, "stack": 28, "total": 256},
            },
            "pte": 4096,
        }
        | changes
    )


def result(figures: RunFigures | None, failure: str | None = None, **limits: object) -> CheckedUnit:
    budget = BudgetFile.model_validate(limits)
    actual = () if figures is None else tuple(findings(budget, figures))
    return CheckedUnit(Unit("kws", "rp2350", budget), figures, failure, actual)


def project(folder: Path, text: str) -> Project:
    (folder / "cmbuild.toml").write_text(text)
    return find_project(folder)


KWS = "[models.kws]\nsource = 'digits'\n"


def test_a_model_is_checked_where_it_has_a_budget_and_where_all_are(tmp_path: Path):
    text = f"[project]\nboards = ['native']\n{KWS}[models.kws.budget.rp2350]\nflash = 1\n"
    checked = project(tmp_path, f"{text}[models.mv]\nsource = 'mv2'\n")
    titles = ["kws on rp2350", "kws on native", "mv on native"]
    assert [unit.title for unit in units(checked, (), ())] == titles
    assert [unit.budget is None for unit in budgeted(checked, (), ())] == [False, True, True]
    assert [unit.title for unit in units(checked, ("kws",), ("native",))] == ["kws on native"]


def test_without_a_budget_it_is_the_default_board(tmp_path: Path):
    checked = project(tmp_path, f"[project]\nboard = 'rp2350'\n{KWS}")
    assert [unit.title for unit in units(checked, (), ())] == ["kws on rp2350"]


def test_without_any_board_it_is_the_one_asked_for(tmp_path: Path):
    other = "[models.mv]\nsource = 'mv2'\n[models.mv.budget.native]\nflash = 1\n"
    checked = project(tmp_path, f"{KWS}{other}")
    titles = [unit.title for unit in units(checked, (), ("rp2350", "native"))]
    assert titles == ["kws on rp2350", "kws on native", "mv on native"]
    with pytest.raises(UnknownName, match="unknown board 'rp2530'"):
        units(checked, ("kws",), ("rp2530",))
    with pytest.raises(NoBudgets) as error:
        budgeted(checked, ("kws",), ("rp2350",))
    assert error.value.hint == "add [models.kws.budget.rp2350] with flash, ram, instructions, …"


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        ("", NoModels, "cmbuild.toml names no models"),
        (KWS, NoBoards, "cmbuild.toml: model kws has no board to be checked on"),
        (f"[project]\nboard = 'rp2350'\n{KWS}", NoBudgets, "cmbuild.toml has no budgets"),
        (
            f"{KWS}[models.kws.budget.rp2530]\nflash = 1\n",
            BrokenFile,
            "cmbuild.toml:3: models.kws.budget.rp2530: unknown board 'rp2530'",
        ),
        (
            f"[project]\nboards = ['x']\n{KWS}",
            BrokenFile,
            "cmbuild.toml:2: project.boards: unknown board 'x'",
        ),
    ],
)
def test_what_cannot_be_checked(tmp_path: Path, text: str, kind: type, problem: str):
    with pytest.raises(kind) as error:
        budgeted(project(tmp_path, text), (), ())
    assert error.value.message == f"{tmp_path}/{problem}"


def test_names_that_the_project_does_not_have(tmp_path: Path):
    checked = project(tmp_path, f"[project]\nboard = 'rp2350'\n{KWS}")
    with pytest.raises(UnknownName, match="unknown model of the project 'kvs'"):
        units(checked, ("kvs",), ())
    with pytest.raises(UnknownName, match="unknown board of the project 'native'"):
        units(checked, (), ("native",))


def test_one_percent_more_is_over_a_budget_that_says_so():
    assert result(figures(), instructions=1000).is_fine
    over = result(figures(), instructions=990)
    assert [each.problem for each in over.findings] == ["10 over"]
    with pytest.raises(CheckFailed, match="1 of 2 units failed: kws on rp2350"):
        verdict([over, result(figures(), instructions=1000)])
    verdict([result(figures())])


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ({"flash": 1000}, "24 bytes over"),
        ({"ram": "0.2K"}, "51 bytes over"),
        ({"arena": 127}, "1 bytes over"),
        ({"pte": "4K"}, None),
        ({"cycles": "1.4k"}, "100 over"),
        ({"milliseconds": 0.005}, "0.005 ms over"),
        ({"float": "0%"}, None),
        ({"accuracy": "93.5%"}, "0.50 points under"),
        ({"accuracy": 0.93}, None),
        ({"snr": 40}, "1.6 dB under"),
        ({"resolution": 20}, None),
        ({"resolution": "25 dB"}, "1.5 dB under"),
    ],
)
def test_each_metric_has_its_direction(limits: dict[str, object], problem: str | None):
    (finding,) = result(figures(), **limits).findings
    assert finding.problem == problem


def test_a_layer_below_its_budget_is_named_with_what_would_mend_it() -> None:
    below = result(figures(), resolution=30)
    words = (
        "6.5 dB under: softmax (attend) at net.py:21: its logits span 698 in 255 steps; scale or "
        "clamp before it"
    )
    assert [each.explained for each in below.findings] == [words]
    (case,) = Xml.fromstring(to_junit([below])).iterfind(".//failure/..[@name='resolution']")
    assert words in str(case[0].get("message"))
    shown = " ".join(CheckReport([below]).screen().plain.split())
    assert "resolution 23.5 dB ≥ 30 dB ✗ 6.5 dB under" in shown
    assert "softmax (attend) at net.py:21: its logits span 698" in shown
    (limit,) = CheckReport([below]).document([]).units[0].limits
    assert str(limit.detail).endswith("scale or clamp before it")
    (fine,) = result(figures(), resolution=20).findings
    assert fine.explained is None


@pytest.mark.parametrize("columns", [40, 50, 60, 80])
def test_a_check_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    checked = result(figures(), resolution=30, instructions=900, flash=1 << 20, accuracy=0.9)
    shown = CheckReport([checked]).screen().plain
    assert max(map(len, shown.splitlines())) <= columns
    assert "✗ 6.5 dB under" in shown and "flash" in shown


@pytest.mark.parametrize(
    ("changes", "limits", "problem"),
    [
        ({"accuracy": None}, {"accuracy": 0.5}, "not known: no labelled samples"),
        ({"fidelity": None}, {"snr": 10}, "not known: no float model"),
        ({"fidelity": {"snr_db": None}}, {"snr": 10}, None),
        (
            {"fidelity": {"snr_db": 50, "outputs": [{"snr_db": None}, {"snr_db": 3}]}},
            {"snr": 10},
            "7 dB under",
        ),
        ({"faithful": None}, {"resolution": 10}, "not known: layers not compared"),
        ({"fidelity": None}, {"resolution": 10}, "not known: layers not compared"),
        ({"fidelity": {"snr_db": 38.4}}, {"resolution": 90}, None),
        ({"cycles": None}, {"cycles": 10}, "not known: not counted here"),
        ({"pte": None}, {"pte": 10}, "not known: the program is gone"),
    ],
)
def test_what_was_not_measured_fails(changes, limits, problem):
    (finding,) = result(figures(**changes), **limits).findings
    assert finding.problem == problem


def test_junit_has_a_case_for_each_limit():
    units = [
        result(figures(), flash=1000, arena=128),
        result(None, "does not\x00 fit & <more>"),
    ]
    text = to_junit(units)
    first, second = Xml.fromstring(text.partition("\n")[2])
    assert (first.get("name"), first.get("tests"), first.get("failures")) == (
        "kws on rp2350",
        "3",
        "1",
    )
    assert [case.get("name") for case in first] == ["verified", "flash", "arena"]
    (failure,) = first.iter("failure")
    assert failure.get("message") == "flash: 1 KB, limit 1000 B: 24 bytes over"
    assert second[0][0].get("message") == "verified: does not\ufffd fit & <more>"


def test_a_failed_run_is_not_fine():
    assert not result(figures(), "3 of 3 samples differ").is_fine
    assert not replace(result(figures()), failure="x").is_fine
