"""Every model of the zoo on every runtime matches the reference op by op, in little memory."""

from __future__ import annotations

from math import inf
from pathlib import Path

import numpy as np
import pytest
from harness.examples import Example
from harness.exports import Programs, zoo_models
from harness.figures import FIGURES, known
from harness.runtime import Runtime

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.job import PROGRAM, SAMPLES
from cmcompiler.frontend.vectors import Samples
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph
from cmcompiler.isa import Isa
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.feed import feed_rows
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.reader import read_program

pytestmark = pytest.mark.timeout(900)
"""The first test exports most of the zoo."""

UPSTREAM_ARENA = {
    name: FIGURES[name].arena for name in known("arena") if not FIGURES[name].needs_more
}
"""Bytes planned by ExecuTorch without scratch, for models that need at most as much here."""


@pytest.fixture(scope="module")
def models() -> Programs:
    """Export folder of each model."""
    return Programs()


def graph_of(folder: Path, io: str = "program") -> Graph:
    return build_graph(read_program((folder / PROGRAM).read_bytes()), io=io)


@pytest.mark.parametrize("name", zoo_models())
def test_kernels_equal_the_reference(runtime: Runtime, models: Programs, name: str) -> None:
    sample = Samples.load(models[name] / SAMPLES)[0]
    runtime.check(Example(graph_of(models[name]), sample, name))


@pytest.mark.parametrize("name", ["ds_cnn", "mlp", "resnet8"])
def test_kernels_equal_the_reference_without_floats(
    runtime: Runtime, models: Programs, name: str
) -> None:
    graph = graph_of(models[name], "int8")
    random = np.random.default_rng(0)
    sample = [random.integers(-128, 128, port.shape, np.int8) for port in graph.inputs]
    assert {port.tensor.dtype for port in graph.inputs} == {np.dtype(np.int8)}
    runtime.check(Example(graph, tuple(sample), name))


@pytest.mark.long
@pytest.mark.parametrize(("io", "feed"), [("program", "rows"), ("int8", "whole"), ("int8", "rows")])
@pytest.mark.parametrize("name", zoo_models())
def test_kernels_equal_the_reference_with_rows_from_outside(
    runtime: Runtime, models: Programs, name: str, io: str, feed: str
) -> None:
    graph = graph_of(models[name], io)
    options = PlanOptions(feed=feed if _has_images(graph) else "whole")
    plans = [make_plan(graph, isa, options) for isa in runtime.isas]
    for plan in plans:
        assert any(port.fed for port in plan.inputs) == (options.feed == "rows")
    random = np.random.default_rng(0)
    sample = tuple(
        random.integers(-128, 128, port.shape, np.int8) if port.tensor.dtype == np.int8 else array
        for port, array in zip(graph.inputs, Samples.load(models[name] / SAMPLES)[0], strict=True)
    )
    example = Example(graph, sample, name)
    runtime.check_plans([(plan, example) for plan in plans])


def _has_images(graph: Graph) -> bool:
    try:
        feed_rows(graph)
    except Unsupported:
        return False
    return True


@pytest.mark.parametrize("isa", Isa)
@pytest.mark.parametrize("name", zoo_models())
def test_the_arena_is_what_is_in_use_at_once(models: Programs, name: str, isa: Isa) -> None:
    graph = graph_of(models[name])
    plan = make_plan(graph, isa, PlanOptions(streams=False))
    assert plan.peak is not None
    assert plan.arena_bytes == plan.peak.size + SLACK
    assert plan.arena_bytes <= UPSTREAM_ARENA.get(name, plan.arena_bytes)
    assert make_plan(graph, isa, PlanOptions(surcharge=inf)).arena_bytes <= plan.arena_bytes


MOST_ARENA = {name: FIGURES[name].streamed for name in known("streamed")}
"""Bytes with an int8 input, on any core."""


@pytest.mark.parametrize("isa", Isa)
@pytest.mark.parametrize("name", zoo_models(list(MOST_ARENA)))
def test_streams_save_memory(models: Programs, name: str, isa: Isa) -> None:
    plan = make_plan(graph_of(models[name], "int8"), isa)
    assert plan.arena_bytes <= MOST_ARENA[name]
