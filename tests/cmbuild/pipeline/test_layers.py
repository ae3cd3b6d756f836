from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from cmbuild.pipeline.layers import layers, precision_of
from cmcompiler.frontend.call_sites import CallSite
from cmcompiler.frontend.job import ExportRecord
from cmcompiler.ir.arithmetic import Arithmetic
from cmcompiler.plan.record import PlanRecord, StepRecord

EXPORT = cast(
    ExportRecord,
    SimpleNamespace(
        instructions={1: "conv2d", 2: "add"},
        fidelity=SimpleNamespace(layers=()),
        call_sites={
            "conv2d": CallSite("conv2d", "features.3.conv", "net.py", 12),
            "add": CallSite("add", "", "net.py", 20),
        },
    ),
)


def step(title: str, source: str, *, stages: int = 0) -> StepRecord:
    return StepRecord(
        title=title,
        source=source,
        kernel="stream" if stages else title,
        rows=(0, 0),
        microkernel=None,
        isa=None,
        fallback=None,
        macs=0,
        whole_macs=0,
        exact=True,
        arithmetic=Arithmetic.INTEGER,
        writes=(),
        stages=stages,
    )


STEPS = (
    step("quantize", "quantized_decomposed::quantize_per_tensor.out #0"),
    step("stream", "2 stages", stages=2),
    step("conv2d 3×3", "cortex_m::quantized_conv2d.out #1"),
    step("add", "cortex_m::quantized_add.out #2"),
    step("linear", "cortex_m::quantized_linear.out #3"),
)
PLAN = cast(PlanRecord, SimpleNamespace(steps=STEPS, timeline=()))


def test_steps_get_the_names_of_their_modules():
    listed = layers(
        PLAN,
        EXPORT,
        instructions=[1, 2, 3, 4, 5],
        cycles=[],
        sensitivity={"conv2d": 31.5},
        names={},
    )
    assert [each.name for each in listed] == [
        *("quantize", "stream", "features.3.conv", "add", "linear")
    ]
    assert [each.module for each in listed] == [None, None, "features.3.conv", "", None]
    assert (listed[2].file, listed[2].line, listed[2].snr_db) == ("net.py", 12, 31.5)
    assert [each.stream for each in listed] == [None, None, 1, 1, None]
    assert [each.instructions for each in listed] == [1, 2, 3, 4, 5]
    assert {each.cycles for each in listed} == {None}


@pytest.mark.parametrize(
    ("kernel", "precision"),
    [
        ("conv2d", "8w8a"),
        ("implicit_conv2d_w4", "4w8a"),
        ("linear_vector_w16", "8w8a"),
        ("pixel_conv2d_s16_long", "8w16a"),
        ("short_depthwise", "8w16a"),
        ("lstm_s16", "8w16a"),
        ("softmax_s8", "8a"),
        ("short_softmax", "16a"),
        ("interpolation", "16a"),
        ("copy", None),
        ("stream", None),
    ],
)
def test_a_kernel_says_of_which_types_a_layer_is(kernel, precision):
    assert precision_of(step(kernel, "").model_copy(update={"kernel": kernel})) == precision


def test_a_program_of_unknown_origin_has_titles():
    listed = layers(PLAN, None, instructions=[], cycles=[], sensitivity={}, names={})
    assert [each.name for each in listed] == [each.title for each in STEPS]
    assert {each.module for each in listed} == {None}


def test_a_program_has_the_names_in_its_file():
    known = {1: "model/conv/Relu", 3: "model/logits"}
    listed = layers(PLAN, None, instructions=[], cycles=[], sensitivity={}, names=known)
    assert [each.name for each in listed] == [
        *("quantize", "stream", "model/conv/Relu", "add", "model/logits")
    ]
