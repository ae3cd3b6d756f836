"""Graphs without dead channels, on every instruction set."""

from __future__ import annotations

from harness.examples import Example
from harness.prunable_graphs import PrunableGraph, with_all_gathered
from harness.runtime import Runtime

from cmcompiler.importer.pruning import pruned

SEEDS = range(12)


def test_kernels_compute_what_the_whole_graph_does(runtime: Runtime) -> None:
    made = [PrunableGraph(seed) for seed in SEEDS]
    graphs = [with_all_gathered(pruned(each.made())) for each in made]
    assert all(graph.pruning is not None for graph in graphs)
    runtime.check(
        *(
            Example(graph, (each.inputs(),), f"seed {seed}")
            for seed, each, graph in zip(SEEDS, made, graphs, strict=True)
        )
    )
