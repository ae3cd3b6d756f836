"""Lowering rules that are broken on purpose give programs that the comparison notices."""

from __future__ import annotations

import numpy as np
import pytest
from harness.broken_lowering import REFUSED, judged
from harness.exported import NEAREST, TARGET, Exported

from cmcompiler.frontend.fidelity.check import fidelity_of
from cmcompiler.frontend.lowering import Lowered, lower_with_nodes
from cmcompiler.frontend.quiet import quiet
from cmcompiler.importer.build import build_graph
from cmcompiler.pte.reader import read_program

LEAST = 0.95
MODELS = (
    *("tests/data/models/mixed.py:gallery", "tests/data/models/mixed.py:assigned"),
    *("tests/data/models/sequences.py:encoder", "tests/data/models/sequences.py:sensors"),
    *("tests/data/models/gestures.py:temporal", "tests/data/models/images.py:excited"),
)
NOTICED, MISSED = "noticed", "missed"
SAME, AS_NEAR = "computes the same", "is as near"


def noticed(exported: Exported, every: int = 1) -> tuple[int, list[str]]:
    """How many damages that reach an output are noticed, and those that are not.

    Args:
        every: one of so many damages.
    """
    before = exported.results(exported.graph())
    assert before is not None

    def judge(broken: Lowered) -> str:
        after = exported.results(build_graph(read_program(broken.program)))
        if after is None or [each.shape for each in after] != [each.shape for each in before]:
            return REFUSED
        if all(map(np.array_equal, before, after)):
            return SAME
        real, samples = exported.quantized.real, exported.samples[:2]
        fidelity = fidelity_of(broken, real, samples)
        if fidelity.faithful is False:
            return NOTICED
        is_nearest = all(layer.error_steps <= NEAREST for layer in fidelity.layers)
        return AS_NEAR if fidelity.faithful and is_nearest else MISSED

    with quiet():
        results = judged(
            lambda note: lower_with_nodes(exported.quantized, TARGET, note), judge, every
        )
    caught = [each for each in results if each.verdict == NOTICED]
    others = [
        str(each) for each in results if each.verdict not in (NOTICED, SAME, AS_NEAR, REFUSED)
    ]
    return len(caught), others


def test_broken_rules_are_noticed(exported: Exported) -> None:
    caught, missed = noticed(exported, every=12)
    assert caught >= 2
    assert missed == []


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_broken_rules_of_recurrent_layers_are_noticed(recurrent: Exported) -> None:
    caught, missed = noticed(recurrent)
    assert caught >= 30
    assert caught / (caught + len(missed)) >= LEAST, missed


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("model", MODELS)
def test_broken_rules_of_networks_are_noticed(model: str) -> None:
    caught, missed = noticed(Exported.load(model))
    assert caught >= 20
    assert caught / (caught + len(missed)) >= LEAST, missed
