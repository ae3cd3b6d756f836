"""Elements assigned by index, as tensors that are joined and picked."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from harness.rewriting import Function, rewritten, targets
from torch import Tensor
from torch.fx import GraphModule

from cmcompiler.frontend import operators
from cmcompiler.frontend.passes.functionalization import without_writes
from cmcompiler.frontend.rewrites.assignments import join_assignments
from cmcompiler.frontend.rewrites.in_place import remove_in_place
from cmcompiler.frontend.rewrites.order import rewrite

aten = torch.ops.aten
ROWS = torch.arange(12.0).reshape(2, 6) / 7

FORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "a row": lambda x: x.select_scatter(x[:, 0] * 2, 1, -2),
    "the first rows": lambda x: x.slice_scatter(ROWS, 0, 0, 2),
    "all rows": lambda x: x.slice_scatter(x * 2, 0),
    "the last columns": lambda x: x.slice_scatter(x[:, :2], 1, -2),
    "every other column": lambda x: x.slice_scatter(x[:, :3] * 2, 1, 1, None, 2),
    "no rows": lambda x: x.slice_scatter(x[:0], 0, 5, 9),
    "listed rows": lambda x: x.index_copy(0, torch.tensor([3, 0]), ROWS),
    "a number": lambda x: x.index_fill(1, torch.tensor([4, 1]), 0.5),
    "rows by index": lambda x: x.index_put((torch.tensor([2, -1]),), ROWS),
    "one value": lambda x: aten.index_put(x, [None, torch.tensor([2, 0])], torch.ones(1)),
    "elements": lambda x: x.index_put((torch.tensor([2, 0]), torch.tensor([5, 3])), ROWS[0, :2]),
    "a mask": lambda x: x.index_put((torch.arange(4) > 1,), ROWS),
    "a mask of all": lambda x: x.index_put((torch.arange(24).reshape(4, 6) % 5 == 1,), ROWS[0, :5]),
    "a copy": lambda x: aten.copy(torch.zeros(4, 6), x[:1]),
    "a number everywhere": lambda x: torch.fill(x[:2], 0.5),
    "a computed number everywhere": lambda x: torch.fill(x[:2], x[0, 1]),
    "zeros": lambda x: aten.zero(x[1]),
    "an integer by tensor": lambda x: torch.fill(x, torch.tensor(3)),
    "a number by tensor": lambda x: x.index_fill(1, torch.tensor([4, 1]), torch.tensor(0.5)),
}

SUMS: dict[str, Callable[[Tensor], Tensor]] = {
    "rows": lambda x: torch.zeros(4, 6).index_add(0, torch.tensor([3, 3, 0]), x[:3], alpha=2),
    "columns": lambda x: x.index_add(1, torch.tensor([1, 1]), x[:, :2]),
    "elements": lambda x: x.index_put((torch.tensor([1, 1]),), ROWS, accumulate=True),
}


@pytest.mark.parametrize("name", FORMS)
def test_constant_places_need_nothing_but_movements(name: str) -> None:
    graph = rewritten(Function(FORMS[name]), torch.randn(4, 6), by=_join, tolerance=0)
    moved = {"scatter", "index_put", "index_copy", "index_fill", "copy", "fill", "zero"}
    assert not moved & _operators(graph)


@pytest.mark.parametrize("name", SUMS)
def test_what_is_added_up_is_a_product_with_a_constant_matrix(name: str) -> None:
    operators_left = _operators(rewritten(Function(SUMS[name]), torch.randn(4, 6), by=_join))
    assert "linear" in operators_left and not {"index_add", "index_put"} & operators_left


def test_places_that_are_computed_stay() -> None:
    class Put(torch.nn.Module):
        def forward(self, x: Tensor, places: Tensor) -> Tensor:
            return x.index_put((places,), ROWS)

    inputs = torch.randn(4, 6), torch.tensor([1, 3])
    assert targets(rewritten(Put(), *inputs, by=_join)) == ["aten.index_put.default"]


def test_a_module_may_assign_rows() -> None:
    class Assigned(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = torch.zeros(4, 6)
            y[0] = x[1]
            y[1:, ::2] = x[1:, ::2]
            y[:, [1, 3]] = y[:, [3, 1]] * 0.5
            return y

    x = torch.randn(4, 6)
    operators.define()
    graph = rewrite(without_writes(torch.export.export(Assigned(), (x,)), 0))
    torch.testing.assert_close(graph(x), Assigned()(x), rtol=0, atol=0)
    assert _operators(graph) <= MOVEMENTS | {"function"}


MOVEMENTS = {"cat", "slice", "select", "unsqueeze", "index_select", "index"}


def _join(module: GraphModule) -> None:
    remove_in_place(module)
    join_assignments(module)


def _operators(graph: GraphModule) -> set[str]:
    return {name.split(".")[1].replace("_scatter", "") for name in targets(graph)}
