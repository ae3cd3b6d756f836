"""Windows as elements picked by index."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from harness.rewriting import Function, rewritten, targets

from cmcompiler.frontend.rewrites.windows import pick_windows

PICKED = {
    "patches": lambda x: F.unfold(x, (3, 2), dilation=(2, 1), padding=(1, 2), stride=(1, 3)),
    "patches alone": lambda x: F.unfold(x, 2),
    "along channels": lambda x: x.unfold(1, 2, 1),
    "along the last dimension": lambda x: x.unfold(-1, 3, 2),
}


@pytest.mark.parametrize("name", PICKED)
def test_windows_are_picked(name):
    graph = rewritten(Function(PICKED[name]), torch.randn(2, 3, 6, 9), by=pick_windows, tolerance=0)
    assert "aten.index_select.default" in targets(graph)
    assert not {"aten.im2col.default", "aten.unfold.default"} & set(targets(graph))


def test_tiles_are_moved():
    module = Function(lambda x: F.fold(x, (6, 8), (3, 2), stride=(3, 2)))
    graph = rewritten(module, torch.randn(2, 12, 8), by=pick_windows, tolerance=0)
    assert [name.split(".")[1] for name in targets(graph)] == ["reshape", "permute", "reshape"]


def test_tiles_that_overlap_are_added_by_a_transposed_convolution():
    module = Function(
        lambda x: F.fold(x, (7, 9), (3, 2), dilation=(2, 1), padding=(1, 0), stride=(1, 3))
    )
    graph = rewritten(module, torch.randn(2, 12, 15), by=pick_windows)
    assert targets(graph) == ["aten.reshape.default", "aten.conv_transpose2d.input"]
