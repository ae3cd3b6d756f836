"""Budgets that a run writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild.projects.budgeting import NotEdited, set_budgets, with_limits
from cmbuild.projects.check import CheckedUnit, Unit
from cmbuild.projects.figures import RunFigures
from cmbuild.projects.file import BudgetFile
from cmbuild.strictfile import tomllib

FIGURES = RunFigures.model_validate(
    {
        "model": "kws",
        "board": "rp2350",
        "verified": True,
        "accuracy": {"metric": "top-1", "reference": 0.935, "samples": 200},
        "fidelity": {"snr_db": 38.4},
        "float": {"share": 0.004},
        "instructions": {"total": 123_456, "unit": "instructions", "per_op": []},
        "cycles": None,
        "memory": {
            "flash": {"code": 1000, "weights": 24, "total": 20_000, "capacity": None},
            "ram": {"arena": 128, "static": 100, "stack": None, "total": 900},
        },
    }
)
TABLE = ("models", "kws", "budget", "rp2350")


def checked(budget: BudgetFile | None, failure: str | None = None) -> CheckedUnit:
    return CheckedUnit(Unit("kws", "rp2350", budget), FIGURES, failure, ())


def test_limits_are_costs_and_five_percent(tmp_path: Path) -> None:
    file = tmp_path / "cmbuild.toml"
    file.write_text("# mine\n[models.kws]\nsource = 'kws.py'\n")
    set_budgets(file, [checked(None)])
    assert file.read_text() == (
        "# mine\n[models.kws]\nsource = 'kws.py'\n\n[models.kws.budget.rp2350]\n"
        'flash = "20.51K"\nram = 945\ninstructions = "129.63k"\naccuracy = "92%"\n'
    )


def test_comments_order_and_other_tables_stay(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    before = (
        "[tool.cmbuild.models.kws]\nsource = 'kws.py'\n\n"
        '[tool.cmbuild.models."kws".budget.rp2350] # the product\n'
        'snr = 10 # dB\nflash="9K"\n{ram}\n[tool.other]\nflash = "1K"\n'
    )
    file.write_text(before.format(ram=""))
    set_budgets(file, [checked(BudgetFile(snr=10, flash=9216, ram=1, float=0.5))])
    text = file.read_text()
    assert 'snr = 37 # dB\nflash="20.51K"\n' in text
    assert text.endswith('\n[tool.other]\nflash = "1K"\n')
    table = tomllib.loads(text)["tool"]["cmbuild"]["models"]["kws"]["budget"]["rp2350"]
    assert table == {"snr": 37, "flash": "20.51K", "ram": 945, "float": "2%"}


def test_what_was_not_verified_keeps_its_budget(tmp_path: Path) -> None:
    file = tmp_path / "cmbuild.toml"
    file.write_text(text := "[models.kws.budget.rp2350]\nflash = 1\n")
    set_budgets(file, [checked(BudgetFile(flash=1), "mismatch")])
    assert file.read_text() == text


def test_another_form_is_not_guessed(tmp_path: Path) -> None:
    file = tmp_path / "cmbuild.toml"
    file.write_text(text := "[models]\nkws.budget.rp2350.flash = 1\n")
    with pytest.raises(NotEdited) as error:
        set_budgets(file, [checked(BudgetFile(flash=1))])
    assert str(error.value.hint).endswith('budget.rp2350] yourself: flash = "20.51K"')
    assert file.read_text() == text


def test_a_text_is_added_to_as_often_as_wanted() -> None:
    once = with_limits("", TABLE, {"flash": "1"})
    assert with_limits(once, TABLE, {"flash": "1"}) == once
