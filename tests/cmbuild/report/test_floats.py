"""What a report says of operators in float."""

from __future__ import annotations

from cmbuild.accuracy import FloatCall, FloatUse
from cmbuild.report.floats import float_lines, lacking_lines


def use(count: int, estimated: bool = False) -> FloatUse:
    calls = [
        FloatCall(name=f"op{i}", file="/home/net.py", line=i, reason="no kernel", hint="write it")
        for i in range(count)
    ]
    return FloatUse(share=0.5, estimated=estimated, operators=tuple(calls))


def lines(float_use: FloatUse, has_fpu: bool = True) -> list[str]:
    return [line.plain for line in float_lines(float_use, has_fpu)]


def test_a_program_without_floats_says_nothing() -> None:
    assert lines(use(0)) == []
    assert list(lacking_lines([])) == []


def test_the_share_and_each_place_are_named() -> None:
    first, second, third = lines(use(1, estimated=True), has_fpu=False)
    assert "! 1 operator in float: 50 % of instructions, estimated; the core has no FPU" in first
    assert second.strip() == "op0  net.py:0  no kernel"
    assert third.strip() == "try: write it"


def test_a_few_of_many_are_named_and_a_hint_once() -> None:
    shown = lines(use(8))
    assert "8 operators in float" in shown[0]
    assert shown[-2].strip() == "and 3 more"
    assert sum("try: " in line for line in shown) == 1


def test_operators_that_executorch_lacks_are_named() -> None:
    (line,) = lacking_lines(["cmbuild::one", "cmbuild::two"])
    assert "lacks cmbuild::one, cmbuild::two" in line
