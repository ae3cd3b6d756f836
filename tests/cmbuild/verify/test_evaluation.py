"""Forms of a model side by side."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cmbuild.accuracy import LayerCost
from cmbuild.verify.evaluation import compared
from cmbuild.verify.fidelity import FidelityBasis
from cmcompiler.frontend.call_sites import CallSite
from cmcompiler.frontend.fidelity.record import LayerError, LayerResolution, ProgramFidelity
from cmcompiler.frontend.outputs import ModelOutputs
from cmcompiler.frontend.quantized import OperatorCost
from cmcompiler.frontend.sample_origin import SampleOrigin


def test_each_form_is_compared_with_float_and_with_the_labels() -> None:
    real = np.eye(3, dtype=np.float32)[:, None]
    sites = {
        "conv2d": CallSite("conv2d", "blocks.0", "net.py", 3),
        "mul": CallSite("mul", "", None, None),
    }
    record = SimpleNamespace(
        layers=(OperatorCost("mul", 9.0), OperatorCost("conv2d", 20.0)),
        call_sites=sites,
        calibration=SimpleNamespace(samples=9, held_out=0, detail=""),
        notes=(),
        fidelity=ProgramFidelity(
            (LayerError("mul", 3.0, 0.56, 0.0, 9.0, 0.0, 1.0, 2.0),),
            resolutions=(LayerResolution("mul", 24.0, 3.0, 255, is_operand=True),),
        ),
    )
    port = SimpleNamespace(name="y", dtype="float32", shape=(1, 3), quantization=None)
    export = SimpleNamespace(outputs=ModelOutputs((real,), (real / 2,)), record=record)
    stage: Any = SimpleNamespace(
        plan=SimpleNamespace(
            source=SimpleNamespace(name="net", export=export, record=record),
            record=SimpleNamespace(inputs=[], outputs=[port]),
        ),
        samples=SimpleNamespace(labels=np.array([0, 1, 0])),
        real=None,
        real_inputs=(),
        real_outputs=(real,),
        outputs=(real * 1.1,),
        basis=FidelityBasis(SampleOrigin.CALIBRATION, "held out", 9, ("y",), holds_classes=True),
        is_chosen=True,
        added=0,
    )
    comparison = compared(stage, "microbit", [np.roll(real, 1, axis=2)])
    assert [row.form for row in comparison.forms] == [
        "float",
        "fake-quantised",
        "reference",
        "device",
    ]
    assert [row.accuracy for row in comparison.forms] == pytest.approx([2 / 3, 2 / 3, 2 / 3, 1 / 3])
    assert comparison.faithfulness is not None
    assert comparison.faithfulness.faithful is False
    assert comparison.faithfulness.faults[0].startswith(
        "mul has 1 where the model has 2: 3 steps off"
    )
    assert comparison.warnings[-1].startswith("no layer loses as much alone")
    assert (comparison.inputs, comparison.detail, comparison.sequence) == (
        "calibration",
        "held out",
        9,
    )
    assert [row.agreement for row in comparison.forms] == [None, 1, 1, 0]
    decibels = [row.snr_db for row in comparison.forms]
    assert decibels[0] is None
    assert decibels[1:] == pytest.approx([6.02, 20, -3.01], abs=0.01)
    assert comparison.layers == (
        LayerCost(name="mul", file=None, line=None, snr_db=9.0),
        LayerCost(name="conv2d (blocks.0)", file="net.py", line=3, snr_db=20.0),
    )
    assert [row.form for row in compared(stage, None, None).forms][-1] == "reference"
