"""Every layer of a program against the float graph, on the program's own values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from harness.exported import Exported
from torch import nn

from cmcompiler import api
from cmcompiler.frontend.fidelity import check as checking
from cmcompiler.frontend.fidelity.check import check
from cmcompiler.ir.graph import Graph
from cmcompiler.ops.linear import Linear


def test_each_layer_is_within_what_its_arithmetic_allows(exported) -> None:
    fidelity = exported.check()
    assert (fidelity.faithful, fidelity.unpaired, fidelity.reason) == (True, (), None)
    assert (fidelity.stalled, fidelity.rewritten) == ((), None)
    sites = exported.quantized.call_sites
    operators = {sites[each.node].operator for each in fidelity.layers}
    assert {"conv2d", "max_pool2d", "flip", "cat", "linear", "softmax"} < operators
    by_node = {each.node: each for each in fidelity.layers}
    assert by_node["flip"].bound_steps < 0.1 < by_node["linear"].bound_steps < 0.6
    assert all(each.snr_db > 20 for each in fidelity.resolutions)


@pytest.mark.parametrize(
    ("layer", "shape"), [(nn.Linear(8, 16), (64, 8)), (nn.Conv1d(8, 16, 1), (1, 8, 64))]
)
def test_a_bias_may_be_off_by_half_a_unit_of_a_coarse_sum(layer, shape) -> None:
    """As in a trained autoencoder: only features that are always 0 have large weights."""
    chance = torch.Generator().manual_seed(0)
    for values in (layer.weight.data, layer.bias.data):
        values.copy_(torch.rand(values.shape, generator=chance) * 0.04 - 0.02)
    layer.weight.data[:, 0] = 0.5
    samples = torch.randn((8, *shape), generator=chance)
    samples.select(2, 0).zero_()
    fidelity = Exported.of(layer.eval(), [(each,) for each in samples]).check()
    assert fidelity.faithful
    (error, bound) = max((each.error_steps, each.bound_steps) for each in fidelity.layers)
    assert 0.9 * bound < error < bound < 0.8


def test_a_wrong_parameter_shows_at_its_layer_alone(exported, monkeypatch) -> None:
    build = checking.build_graph

    def broken(program, **options) -> Graph:
        graph = build(program, **options)
        nodes = [
            replace(node, op=replace(node.op, weights=node.op.weights[::-1]))
            if isinstance(node.op, Linear)
            else node
            for node in graph.nodes
        ]
        return replace(graph, nodes=tuple(nodes))

    monkeypatch.setattr(checking, "build_graph", broken)
    fidelity = exported.check()
    assert fidelity.faithful is False
    wrong = [each for each in fidelity.layers if not each.faithful]
    assert [each.node for each in wrong] == ["linear"]
    assert wrong[0].error_steps > 5


def test_an_instruction_without_a_counterpart_is_counted(exported) -> None:
    lowered, real = exported.lowered, exported.quantized.real
    nodes = {number: name if name != "flip" else "other" for number, name in lowered.nodes.items()}
    fidelity = check(lowered.program, nodes, real, exported.samples)
    assert fidelity.faithful
    assert [each.partition(".")[0] for each in fidelity.unpaired] == ["aten::flip"]


def test_rewrites_that_change_an_output_are_not_faithful(exported) -> None:
    other = replace(exported, outputs=tuple(stack[::-1].copy() for stack in exported.outputs))
    fidelity = other.check()
    assert fidelity.faithful is False
    assert fidelity.rewritten is not None
    assert np.isclose(fidelity.rewritten.exact, exported.outputs[0], atol=1e-6).any()


class LastCells(nn.Module):
    """An LSTM that stays in float, and becomes many operators: nothing tells its outputs' range."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[1][1]


def test_what_an_operator_is_taken_apart_into_has_no_counterpart() -> None:
    torch.manual_seed(0)
    compiled = api.compile(LastCells().eval(), torch.randn(2, 1, 4))
    assert compiled.fidelity.faithful is None
    assert len(compiled.fidelity.unpaired) == 1
    assert "its inputs were left in float" in {each.reason for each in compiled.placement}


class Divided(nn.Module):
    """Results of one operator that a lowering makes one by one, a stack that stays in float, and a
    number among the outputs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("held", torch.zeros(2, 4))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor | float | None, ...]:
        first, second = x.unbind(1)
        third, fourth = (first * second.tanh()).split([1, 3], -1)
        count = self.held[0] + 1
        mean = self.held[1] + (second[0] - self.held[1]) / count
        self.held.copy_(torch.stack([count, mean]))
        return 3.5, third, None, fourth.relu(), mean


class Heads(nn.Module):
    """Parts of a permuted view: the lowering takes them with a dimension more."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = (x * 1.5).view(1, 5, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        return nn.functional.scaled_dot_product_attention(*parts)


def test_parts_of_a_permuted_view_have_counterparts() -> None:
    torch.manual_seed(0)
    samples = [torch.randn(1, 5, 24) for _ in range(4)]
    fidelity = api.compile(Heads(), samples[0], samples).fidelity
    assert (fidelity.faithful, fidelity.unpaired, fidelity.reason) == (True, (), None)
    assert [layer.node for layer in fidelity.layers].count("unbind") == 3


def test_divisions_and_stacks_have_counterparts() -> None:
    torch.manual_seed(0)
    samples = [torch.randn(1, 2, 4) for _ in range(30)]
    fidelity = api.compile(Divided().eval(), samples[0], samples).fidelity
    assert (fidelity.faithful, fidelity.unpaired, fidelity.reason) == (True, (), None)
    nodes = [layer.node for layer in fidelity.layers]
    assert nodes.count("unbind") == nodes.count("split_with_sizes") == 2
    assert "stack" in nodes


class Transformer(nn.Module):
    """Samples an image on its own pixels: their places are whole, or nearly."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(49, 6)
        nn.init.zeros_(self.layer.weight)
        self.layer.bias = nn.Parameter(torch.tensor([1.0, 0, 0, 0, 1, 0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        turn = self.layer(x.flatten(1)).view(-1, 2, 3)
        grid = nn.functional.affine_grid(turn, x.size(), align_corners=False)
        return nn.functional.grid_sample(x, grid, align_corners=False)


def test_places_and_weights_of_samples_are_of_the_grid_that_the_program_has() -> None:
    torch.manual_seed(0)
    samples = [torch.rand(1, 1, 7, 7) for _ in range(8)]
    fidelity = api.compile(Transformer(), samples[0], samples).fidelity
    assert (fidelity.faithful, fidelity.unpaired, fidelity.reason) == (True, (), None)


def test_turns_count_for_more_than_their_results(recurrent: Exported, monkeypatch) -> None:
    monkeypatch.setattr(checking, "_ELEMENTS", 4000)
    assert recurrent.check().samples == 1


class Barometer(nn.Module):
    """Channels far from zero, as of sensors, whose offset is taken away in the first layer."""

    def __init__(self, offset: float, first: nn.Module) -> None:
        super().__init__()
        self.norm, self.first = nn.BatchNorm1d(16), first
        self.norm.running_mean.fill_(offset)
        self.norm.running_var.fill_(9.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.first(self.norm(x)).relu()


@pytest.mark.parametrize("first", [nn.Linear(16, 8), nn.Conv1d(16, 8, 3)])
def test_large_numbers_that_cancel_out_are_faithful(first: nn.Module) -> None:
    torch.manual_seed(0)
    shape = (32, 16) if isinstance(first, nn.Linear) else (1, 16, 32)
    samples = [(torch.randn(shape) * 3 + 30_000,) for _ in range(4)]
    exported = Exported.of(Barometer(30_000, first).eval(), samples)
    fidelity = exported.check()
    assert (fidelity.faithful, fidelity.rewritten) == (True, None)
    other = replace(exported, outputs=tuple(stack * 1.05 for stack in exported.outputs))
    assert other.check().rewritten is not None


def test_norms_of_numbers_far_from_zero_are_faithful() -> None:
    torch.manual_seed(0)
    samples = [(torch.randn(1, 8, 64) * 3 + 1000,) for _ in range(4)]
    layer = nn.GroupNorm(2, 8).eval()
    exported = Exported.of(layer, samples)
    fidelity = exported.check()
    assert fidelity.faithful
    assert [each.node for each in fidelity.layers] == ["group_norm_1"]
    with torch.no_grad():
        next(exported.quantized.real.graph.parameters()).mul_(1.005)
    assert exported.check().faithful is False
