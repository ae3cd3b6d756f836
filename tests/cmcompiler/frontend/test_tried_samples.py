"""Which samples refinement tries."""

from __future__ import annotations

import pytest
import torch
from torch.fx import symbolic_trace

from cmcompiler.frontend.tried_samples import divided, resolved_samples, sample_count


def test_samples_are_tried_or_not():
    assert divided(range(45), 32) == (range(32), range(32, 45))
    assert divided(range(23), 32) == (range(23), ())
    tried, unseen = divided(range(24), 32)
    assert sorted([*tried, *unseen]) == list(range(24))
    assert list(unseen) == [3, 7, 11, 15, 19, 23]


@pytest.mark.parametrize(
    ("elements", "samples", "resolved"), [(0, 32, 4), (10_000_000, 10, 1), (1 << 40, 4, 1)]
)
def test_larger_models_are_tried_on_fewer(elements: int, samples: int, resolved: int) -> None:
    graph = symbolic_trace(torch.nn.ReLU())
    (node,) = (node for node in graph.graph.nodes if node.op.startswith("call"))
    node.op = "call_function"
    node.meta["val"] = torch.empty(elements, device="meta")
    assert (sample_count(graph), resolved_samples(graph)) == (samples, resolved)
