"""What a run says of the layers that its export compared."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from cmbuild.accuracy import Faithfulness
from cmbuild.verify.faithfulness import faithfulness
from cmcompiler.frontend.call_sites import CallSite
from cmcompiler.frontend.fidelity.record import LayerError, ProgramFidelity

FINE = LayerError("conv2d", 0.5, 0.56, 0.0, None, 0.0, 1.0, 1.0)
WRONG = LayerError("fill", 128.0, 0.56, 0.0, -3.0, 0.0, 0.7263, 0.0)
OFFSET = LayerError("fill", 0.5, 0.56, -0.47, 30.0, 0.0, 1.0, 1.1)


def of(*layers: LayerError) -> Faithfulness:
    sites = {
        "conv2d": CallSite("conv2d", "blocks.0", None, None),
        "fill": CallSite("fill", "", "/home/me/net.py", 21),
    }
    return faithfulness(SimpleNamespace(fidelity=ProgramFidelity(layers), call_sites=sites))


def test_a_layer_is_named_by_its_module_and_line() -> None:
    check = of(FINE)
    assert (check.faithful, check.faults) == (True, ())
    assert (check.layers[0].name, check.layers[0].snr_db) == ("conv2d (blocks.0)", math.inf)


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (
            WRONG,
            "fill at net.py:21 has 0.726 where the model has 0: 128 steps off, 0.56 are allowed",
        ),
        (OFFSET, "fill at net.py:21 has 1 where the model has 1.1: -0.47 steps off on average"),
    ],
)
def test_a_fault_has_an_example(layer: LayerError, words: str) -> None:
    check = of(FINE, layer)
    assert (check.faithful, check.faults) == (False, (words,))


def test_a_program_alone_is_not_compared() -> None:
    check = faithfulness(None)
    assert check.faithful is None
    assert "no float model" in str(check.reason)
