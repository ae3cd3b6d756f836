"""The comparison notices a program that differs from the model in any one parameter."""

from __future__ import annotations

import numpy as np
from harness.mutants import mutants

from cmcompiler.ir.graph import Graph
from cmcompiler.ir.reference import Array, evaluate

LEAST = 0.99


def test_mutants_of_programs_are_noticed(exported) -> None:
    graph = exported.graph()
    before = results(graph, exported.samples)
    caught, missed = 0, []
    for mutant in mutants(graph):
        after = results(mutant.graph, exported.samples)
        if after is None or all(map(np.array_equal, before, after)):
            continue
        if all(layer.faithful for layer in exported.layers(graph, mutant.graph)):
            missed.append(mutant.change)
        else:
            caught += 1
    assert caught >= 35
    assert caught / (caught + len(missed)) >= LEAST, missed


def results(graph: Graph, samples: list[list[Array]]) -> list[Array] | None:
    """The outputs for two samples; None if the reference refuses the program."""
    try:
        with np.errstate(all="ignore"):
            return [array for sample in samples[:2] for array in evaluate(graph, sample).outputs]
    except (ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError):
        return None
