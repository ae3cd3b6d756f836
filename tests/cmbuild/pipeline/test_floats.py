"""What of a program computes in float, from its plan and its export's record."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cmbuild.accuracy import FloatUse
from cmbuild.errors import UsageError
from cmbuild.pipeline.floats import excess, float_use, has_fpu, parse_limit
from cmcompiler.frontend.call_sites import CallSite
from cmcompiler.frontend.hints import UNSUPPORTED
from cmcompiler.frontend.quantized import FloatOperator
from cmcompiler.ir.arithmetic import Arithmetic

KINDS = (
    ("cortex_m::quantize_per_tensor.out #0", Arithmetic.BOUNDARY, 0),
    ("cortex_m::quantized_conv2d.out #1", Arithmetic.INTEGER, 9000),
    ("cortex_m::dequantize_per_tensor.out #2", Arithmetic.FLOAT, 0),
    ("aten::atan2.out #3", Arithmetic.FLOAT, 0),
    ("aten::unsqueeze_copy.out #4", Arithmetic.FLOAT, 0),
    ("aten::convolution.out #5", Arithmetic.FLOAT, 9000),
    ("cortex_m::dequantize_per_tensor.out #6", Arithmetic.BOUNDARY, 0),
)
RECORD = SimpleNamespace(
    instructions={1: "conv2d", 3: "atan2", 4: "conv1d", 5: "conv1d"},
    call_sites={
        "conv2d": CallSite("conv2d", "first", "/home/me/net.py", 3),
        "atan2": CallSite("atan2", "", "/home/me/net.py", 7),
        "conv1d": CallSite("conv1d", "head.0", None, None),
    },
    float_operators=(FloatOperator("atan2", "aten.atan2.default", "no rule."),),
)


def plan(kinds: tuple[tuple[str, Arithmetic, int], ...] = KINDS) -> Any:
    written = (SimpleNamespace(place=SimpleNamespace(bytes=64)),)
    steps = [
        SimpleNamespace(source=source, arithmetic=arithmetic, macs=macs, writes=written)
        for source, arithmetic, macs in kinds
    ]
    return SimpleNamespace(steps=steps, isa="dsp")


def use(counts: list[int] | None, record: Any = RECORD, fpu: bool = True) -> FloatUse:
    source: Any = SimpleNamespace(record=record)
    return float_use(source, plan(), counts, fpu)


def test_share_is_of_instructions_without_the_boundary_and_worst_comes_first() -> None:
    floats = use([1000, 50, 10, 20, 5, 15, 1000])
    assert (floats.share, floats.estimated) == (0.5, False)
    atan2, conv = floats.operators
    assert (atan2.name, atan2.file, atan2.line) == ("atan2", "/home/me/net.py", 7)
    assert atan2.reason == "no rule"
    assert (conv.name, conv.file, conv.line) == ("conv1d (head.0)", None, None)
    assert conv.reason == UNSUPPORTED
    assert use([0, 50, 10, 20, 15, 15, 0]).operators[0] == conv


def test_without_counts_the_plan_is_an_estimate() -> None:
    floats = use(None)
    assert floats.estimated
    assert [call.name for call in floats.operators] == ["conv1d (head.0)", "atan2"]
    assert 0.8 < floats.share < floats.share + 0.01 < use(None, fpu=False).share < 1
    assert use([0] * len(KINDS)).estimated


def test_a_program_whose_source_is_unknown_names_its_operators() -> None:
    names = [call.name for call in use([0, 1, 1, 3, 2, 1, 0], record=None).operators]
    assert names == ["aten::atan2.out", "aten::unsqueeze_copy.out", "aten::convolution.out"]


def test_conversions_alone_are_named_as_nothing_else_would_say_where_floats_are() -> None:
    source: Any = SimpleNamespace(record=RECORD)
    floats = float_use(source, plan(KINDS[:3] + KINDS[6:]), [9, 50, 50, 9], True)
    assert floats.share == 0.5
    assert [call.name for call in floats.operators] == ["cortex_m::dequantize_per_tensor.out"]
    assert excess(floats, "10%") is not None


def test_a_program_in_integers_has_none() -> None:
    integers = plan(KINDS[:2] + KINDS[6:])
    source: Any = SimpleNamespace(record=None)
    assert float_use(source, integers, [9, 9, 9], True) == FloatUse(
        share=0.0, estimated=False, operators=()
    )


def test_more_than_the_limit_is_a_failure_with_the_worst() -> None:
    floats = use([1000, 50, 10, 20, 5, 15, 1000])
    error = excess(floats, "0%")
    assert error is not None
    assert error.message == (
        "2 operators in float: 50 % of instructions, more than 0%; first atan2: no rule"
    )
    assert error.exit_code == 1
    assert excess(floats, "49.9%") is not None
    assert [excess(floats, limit) for limit in ("50%", "100 %", None)] == [None] * 3
    none = FloatUse(share=0.0, estimated=False, operators=())
    assert excess(none, "0%") is None


@pytest.mark.parametrize("text", ["0", "101%", "-1%", "a few %", ""])
def test_what_is_no_percentage_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--max-float .* is not a percentage from 0% to 100%"):
        parse_limit("--max-float", text)


def test_cores_without_an_fpu_are_known() -> None:
    assert not has_fpu("cortex-m0plus", None)
    assert has_fpu("cortex-m4", None)
    assert not has_fpu("cortex-m4", "none")
