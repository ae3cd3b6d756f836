"""What a report says of a program's faithfulness."""

from __future__ import annotations

from typing import Any

from cmbuild.accuracy import Faithfulness
from cmbuild.report.faithfulness import faithful_text, fault_lines, verdict_lines

LAYERS: Any = (object(), object())


def test_layers_are_counted() -> None:
    assert faithful_text(Faithfulness(faithful=True, layers=LAYERS)) == "faithful: 2 of 2 layers"
    checked = Faithfulness(
        faithful=True, layers=LAYERS, unpaired=("aten::add.out #12", "aten::add.out #15")
    )
    assert faithful_text(checked) == (
        "faithful: 2 of 4 layers checked, 2 without a counterpart: add"
    )


def test_a_program_that_cannot_be_compared_says_why() -> None:
    nothing = Faithfulness(faithful=None, reason="a program")
    assert faithful_text(nothing) == "layers not compared: a program"
    (line,) = verdict_lines(nothing)
    assert "✓" not in line.plain


def test_the_first_faults_are_shown_and_the_others_counted() -> None:
    bad = Faithfulness(faithful=False, layers=LAYERS, faults=tuple(f"fault {i}" for i in range(5)))
    assert faithful_text(bad) == "not faithful: 5 faults in 2 layers"
    shown = [line.plain.strip() for line in verdict_lines(bad)]
    assert shown == [line.plain.strip() for line in fault_lines(bad)]
    assert shown[0] == "✗ not faithful: fault 0"
    assert shown[-1].startswith("and 2 more layers")
