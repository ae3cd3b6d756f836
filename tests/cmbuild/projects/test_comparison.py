"""Two sets of runs side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cmbuild.errors import UsageError
from cmbuild.projects.comparison import (
    Exceeded,
    NotComparable,
    NothingInCommon,
    Side,
    compare,
    verdict,
)
from cmbuild.projects.figures import RunFigures
from cmbuild.projects.saved import NoResults, NotResults, read_side
from cmbuild.projects.thresholds import thresholds
from cmbuild.report.compare import CompareReport

RUN = {
    "model": "kws",
    "board": "rp2350",
    "verified": True,
    "accuracy": {"metric": "top-1", "reference": 0.93, "samples": 200},
    "fidelity": {"snr_db": 38.4},
    "float": {"share": 0.0},
    "instructions": {
        "total": 1000,
        "unit": "instructions",
        "per_op": [
            {"title": "linear", "source": "#1", "kernel": "k", "instructions": 700, "macs": 7},
            {"title": "linear", "source": "#2", "kernel": "k", "instructions": 200, "macs": 7},
            {"title": "add", "source": "#3", "kernel": "k", "instructions": 100, "macs": 0},
        ],
    },
    "cycles": None,
    "memory": {
        "flash": {"code": 1000, "weights": 24, "total": 1024, "capacity": None},
        "ram": {"arena": 128, "static": 100, "stack": None, "total": 228},
    },
}


def side(title: str, **changes: object) -> Side:
    run = RunFigures.model_validate(RUN | changes)
    return Side(title, {run.title: run})


MORE = {
    "instructions": {
        "total": 1010,
        "unit": "instructions",
        "per_op": [{"title": "linear", "source": "#1", "kernel": "k", "instructions": 1010}],
    }
}


def test_metrics_and_ops():
    comparison = compare(side("old"), side("new", **MORE), ())
    (run,) = comparison.runs
    values = {each.metric.name: (each.before, each.after) for each in run.changes}
    assert values["instructions"] == (1000, 1010)
    assert values["cycles"] == values["pte"] == (None, None)
    assert values["accuracy"] == (0.93, 0.93)
    assert [(op.title, op.before, op.after) for op in run.ops] == [
        ("linear", 900, 1010),
        ("add", 100, None),
    ]
    verdict(comparison)


@pytest.mark.parametrize(
    ("chosen", "changes", "problem"),
    [
        ({"instructions": "+1%"}, MORE, None),
        ({"instructions": "+0.9%"}, MORE, "beyond +0.9%: 1 over"),
        ({"instructions": "+9"}, MORE, "beyond +9: 1 over"),
        ({"instructions": "-1%"}, {}, "beyond -1%: 10 over"),
        ({"flash": "+0K"}, {}, None),
        ({"accuracy": "-0.5%"}, {"accuracy": {"reference": 0.925, "samples": 9}}, None),
        (
            {"accuracy": "-0.5%"},
            {"accuracy": {"reference": 0.92, "samples": 9}},
            "beyond -0.5%: 0.50 points under",
        ),
        ({"snr": "-1 dB"}, {"fidelity": {"snr_db": 36.4}}, "beyond -1 dB: 1 dB under"),
        ({"snr": "-1"}, {"fidelity": {"snr_db": None}}, None),
        ({"cycles": "+1%"}, {}, "not known: not counted here"),
    ],
)
def test_thresholds(chosen: dict[str, str | None], changes: dict[str, object], problem: str | None):
    comparison = compare(side("old"), side("new", **changes), thresholds(chosen))
    problems = [each.problem for each in comparison.runs[0].changes if each.problem]
    assert problems == ([problem] if problem else [])
    if problem:
        with pytest.raises(Exceeded, match="1 change beyond the threshold: "):
            verdict(comparison)


@pytest.mark.parametrize("columns", [40, 50, 60, 80])
def test_a_comparison_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    result = compare(side("build/a/network.pte"), side("build/b/network.pte", **MORE), {})
    shown = CompareReport(result).screen().plain
    assert max(map(len, shown.splitlines())) <= columns
    assert "+1.00 %" in shown


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        ("flash", "1%"),
        ("flash", "+1 dB"),
        ("instructions", "+lots"),
        ("accuracy", "-1"),
        ("snr", "-x"),
        ("milliseconds", "+1s"),
    ],
)
def test_thresholds_are_changes(metric: str, text: str):
    with pytest.raises(UsageError) as error:
        thresholds({metric: text})
    assert f"-{metric} {text}: expected a change such as " in error.value.message


def test_both_must_have_run():
    with pytest.raises(NothingInCommon, match="old and new have no model on a board in common"):
        compare(side("old"), side("new", model="other"), ())
    broken = Side("new", {}, {"kws on rp2350": "it does not fit"})
    with pytest.raises(NotComparable, match=r"kws on rp2350 in new \(after\): it does not fit"):
        verdict(compare(side("old"), broken, ()))
    both = Side("new", {**side("x").runs, **side("x", model="other").runs})
    assert compare(side("old"), both, ()).added == ("other on rp2350",)


def test_runs_are_read_from_folders_and_files(tmp_path: Path):
    text = json.dumps(RUN)
    for place in ("build/kws/rp2350/simulate", "build/kws/native/simulate"):
        (tmp_path / place).mkdir(parents=True)
        board = {"board": place.split("/")[2]}
        (tmp_path / place / "figures.json").write_text(json.dumps(RUN | board))
    (tmp_path / "run.json").write_text(text)
    (tmp_path / "check.json").write_text(
        json.dumps({"units": [{"figures": RUN}, {"figures": None}]})
    )
    assert set(read_side(tmp_path / "build").runs) == {"kws on rp2350", "kws on native"}
    for name in ("build/kws/rp2350", "build/kws/rp2350/simulate", "run.json", "check.json"):
        assert set(read_side(tmp_path / name).runs) == {"kws on rp2350"}
    (tmp_path / "run.json").write_text(json.dumps(RUN | {"verified": False}))
    assert read_side(tmp_path / "run.json").failures == {"kws on rp2350": "not verified"}


def test_a_runs_program_has_a_size(tmp_path: Path):
    (tmp_path / "x.pte").write_bytes(bytes(100))
    run = RunFigures.model_validate(RUN | {"artifacts": {"program": str(tmp_path / "x.pte")}})
    assert run.pte == 100
    assert RunFigures.model_validate_json(run.model_dump_json()) == run


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[1]", "input should be a valid dictionary"),
        ("{}", "model: field required"),
        ('{"error": "x", "hint": null, "exit_code": 1}', "model: field required"),
        ('{"units": [{"figures": 3}]}', "input should be a valid dictionary"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: str, reason: str):
    file = tmp_path / "x.json"
    file.write_text(content)
    with pytest.raises(NotResults) as error:
        read_side(file)
    assert reason in error.value.message
    with pytest.raises(NoResults):
        read_side(tmp_path)
