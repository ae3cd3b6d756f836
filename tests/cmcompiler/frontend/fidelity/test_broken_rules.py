"""Lowering rules that are broken on purpose give programs that the comparison notices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from harness.broken_lowering import Damage, Stages
from harness.exported import TARGET, Exported

from cmcompiler.errors import CompilerError
from cmcompiler.frontend.fidelity.check import fidelity_of
from cmcompiler.frontend.lowering import Lowered, lower_with_nodes
from cmcompiler.frontend.quiet import quiet
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import Array
from cmcompiler.pte.reader import read_program

LEAST = 0.95
MODELS = (
    *("tests/data/models/mixed.py:gallery", "tests/data/models/mixed.py:assigned"),
    *("tests/data/models/sequences.py:encoder", "tests/data/models/sequences.py:sensors"),
    *("tests/data/models/gestures.py:temporal", "tests/data/models/images.py:excited"),
)


def lowered(exported: Exported, damage: Damage, before: Sequence[Array]) -> Lowered | None:
    """The broken program if there is one that computes anything else; torch refuses many.

    Args:
        before: results of the right one.
    """
    try:
        with quiet():
            broken = lower_with_nodes(exported.quantized, TARGET, Stages(damage))
        after = exported.results(build_graph(read_program(broken.program)))
    except (CompilerError, ValueError, RuntimeError):
        return None
    if after is None or len(before) != len(after):
        return None
    same_shape = all(x.shape == y.shape for x, y in zip(before, after, strict=True))
    if not same_shape or all(map(np.array_equal, before, after)):
        return None
    return broken


def noticed(exported: Exported, most: int | None = None) -> tuple[int, list[str]]:
    """How many damages that reach an output are noticed, and those that are not.

    Args:
        most: damages to try, evenly among all; None for all.
    """
    stages = Stages()
    with quiet():
        lower_with_nodes(exported.quantized, TARGET, stages)
    before = exported.results(exported.graph())
    assert before is not None
    caught, missed = 0, []
    every = stages.damages
    for damage in every if most is None else every[:: len(every) // most]:
        broken = lowered(exported, damage, before)
        if broken is None:
            continue
        real, samples = exported.quantized.real, exported.samples[:2]
        if fidelity_of(broken, real, samples).faithful is False:
            caught += 1
        else:
            missed.append(str(damage))
    return caught, missed


def test_broken_rules_are_noticed(exported: Exported) -> None:
    caught, missed = noticed(exported, most=6)
    assert caught >= 2
    assert missed == []


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_broken_rules_of_recurrent_layers_are_noticed(recurrent: Exported) -> None:
    caught, missed = noticed(recurrent)
    assert caught >= 30
    assert caught / (caught + len(missed)) >= LEAST, missed


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("model", MODELS)
def test_broken_rules_of_networks_are_noticed(model: str) -> None:
    caught, missed = noticed(Exported.load(model))
    assert caught >= 20
    assert caught / (caught + len(missed)) >= LEAST, missed
