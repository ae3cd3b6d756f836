"""The comparison notices a program that differs from the model in any one parameter."""

from __future__ import annotations

import numpy as np
import pytest
from harness.exported import NEAREST, REFUSED, Exported
from harness.mutants import mutants

LEAST = 0.99

MODELS = (
    *("tests/data/models/mixed.py:gallery", "tests/data/models/mixed.py:assigned"),
    *("tests/data/models/sequences.py:encoder", "tests/data/models/sequences.py:sensors"),
    *("tests/data/models/gestures.py:temporal", "tests/data/models/sequences.py:lstm"),
    *("tests/data/models/sequences.py:gru", "tests/data/models/sequences.py:rnn"),
    *("tests/data/models/sequences.py:crnn", "tests/data/models/sequences.py:bidirectional_gru"),
)


def noticed(exported: Exported) -> tuple[int, list[str]]:
    """How many mutants that reach an output or a state are noticed, and those that are not.

    Those do not count whose every number is the nearest to the model's that its type has.
    """
    graph = exported.graph()
    before = exported.results(graph)
    assert before is not None
    caught, missed = 0, []
    for mutant in mutants(graph):
        after = exported.results(mutant.graph)
        if after is None or all(map(np.array_equal, before, after)):
            continue
        try:
            layers = exported.layers(graph, mutant.graph)
        except REFUSED:
            continue
        if not all(layer.faithful for layer in layers):
            caught += 1
        elif any(layer.error_steps > NEAREST for layer in layers):
            missed.append(mutant.change)
    return caught, missed


def test_mutants_of_programs_are_noticed(exported: Exported) -> None:
    caught, missed = noticed(exported)
    assert caught >= 35
    assert missed == []


def test_mutants_of_recurrent_layers_are_noticed(recurrent: Exported) -> None:
    caught, missed = noticed(recurrent)
    assert caught >= 50
    assert missed == []


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_mutants_of_networks_are_noticed() -> None:
    total, others = 0, []
    for model in MODELS:
        caught, missed = noticed(Exported.load(model))
        total += caught
        others += [f"{model}: {each}" for each in missed]
    assert total >= 400
    assert total / (total + len(others)) >= LEAST, others
