from __future__ import annotations

from cmbuild.firmware.remedies import Attempt, Choice, advice, attempts
from cmcompiler.errors import Unsupported
from cmcompiler.isa import Isa

NOW = Choice("program", "whole", True, Isa.DSP)
ISAS = (Isa.DSP, Isa.SCALAR)


def over(choice: Choice) -> int:
    """100 bytes too many, of which rows save 30, int8 60, and scalar kernels none."""
    if choice.feed == "rows" and choice.isa is Isa.SCALAR:
        raise Unsupported("no stream takes rows")
    return 100 - 30 * (choice.feed == "rows") - 60 * (choice.io == "int8")


def test_each_is_tried_and_then_all_that_help():
    tried = attempts(NOW, ISAS, 100, over)
    assert tried == [
        Attempt("--io int8", 40),
        Attempt("--feed rows", 70),
        Attempt("--isa scalar", 100),
        Attempt("--io int8 --feed rows", 10),
    ]
    assert advice(tried, 100) == (
        "a smaller model or input, or a larger board (tried without success: "
        "--io int8: still 40 bytes over in all; --feed rows: still 70 bytes over in all; "
        "--isa scalar: no change; --io int8 --feed rows: still 10 bytes over in all)"
    )


def test_wide_weights_are_not_for_scalar_kernels():
    wide = Choice("int8", "rows", True, Isa.DSP, wide=True)
    tried = attempts(wide, ISAS, 10, lambda choice: 10 * choice.wide)
    assert tried == [Attempt("without --weights-as int16", 0)]


def test_only_what_fits_is_offered():
    tried = attempts(NOW, ISAS, 50, lambda choice: over(choice) - 50)
    assert Attempt("--io int8", 0) in tried and len(tried) == 3
    assert advice(tried, 50) == "--io int8, with which it fits"


def test_what_is_chosen_already_is_not_tried():
    rows = Choice("int8", "rows", True, Isa.SCALAR)
    assert attempts(rows, ISAS, 5, over) == []
    assert advice([], 5).endswith("(no option makes it smaller)")
    tried = attempts(Choice("int8", None, False, Isa.SCALAR), ISAS, 5, over)
    assert [each.options for each in tried] == ["without --no-streams"]


def test_a_plan_that_there_is_not():
    tried = attempts(Choice("int8", "rows", True, Isa.DSP), ISAS, 10, over)
    assert tried == [Attempt("--isa scalar", None)]
    assert "--isa scalar: impossible" in advice(tried, 10)
