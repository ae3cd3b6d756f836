"""What rounding leaves of each layer's result."""

from __future__ import annotations

import torch
from torch import nn

from cmcompiler.frontend.fidelity.record import LayerResolution
from cmcompiler.frontend.fidelity.resolution import ResolutionRun
from cmcompiler.frontend.preparation import prepare
from cmcompiler.frontend.quiet import quiet


class Gates(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.rows(x).sin(), -1) * 2.0


def layers(span: float | None = None) -> dict[str, LayerResolution]:
    """By node.

    Args:
        span: of the range of what the softmax reads; None as calibrated.
    """
    torch.manual_seed(0)
    samples = [(torch.randn(1, 8),) for _ in range(4)]
    prepared = prepare(Gates(), samples[0], samples, refinement=False)
    if span is not None:
        softmax = next(node for node in prepared.graph.graph.nodes if "softmax" in node.name)
        observer = prepared.graph.get_submodule(str(softmax.args[0].target))
        ends = torch.tensor(-span / 2), torch.tensor(span / 2)
        observer.min_val, observer.max_val = ends
    resolution = ResolutionRun(prepared.graph)
    with torch.no_grad():
        for sample in samples:
            resolution.run_on(sample)
    return {each.node: each for each in resolution.layers()}


def test_each_layer_keeps_what_eight_bits_keep() -> None:
    listed = layers()
    assert {"linear", "softmax"} <= listed.keys()
    assert all(each.snr_db > 25 for each in listed.values())


def test_a_spoilt_range_shows_where_it_costs_most() -> None:
    listed = layers(span=1000.0)
    assert listed["linear"].snr_db > 25
    assert listed["softmax"].snr_db < 15
    assert listed["softmax"].is_operand
    assert abs(listed["softmax"].span - 1000) < 5


def test_a_running_product_counts_as_a_whole_and_what_reads_its_end_does_alone() -> None:
    class Decay(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            product = x.cumprod(1)
            return product, product[:, -1]

    torch.manual_seed(0)
    samples = [(torch.rand(1, 16),) for _ in range(4)]
    prepared = prepare(Decay(), samples[0], samples, refinement=False)
    resolution = ResolutionRun(prepared.graph)
    with torch.no_grad():
        for sample in samples:
            resolution.run_on(sample)
    kept = {each.node: each.snr_db for each in resolution.layers()}
    (last,) = (node for node in kept if "select" in node)
    assert kept.pop(last) < 20
    assert kept and all(snr_db > 20 for snr_db in kept.values())


def test_the_one_of_a_sharp_softmax_is_no_sentinel() -> None:
    class Nearest(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.softmax(x * 20.0, -1) * 2.0

    samples = [(torch.eye(8).roll(place, 1)[None],) for place in range(8)]
    prepared = prepare(Nearest(), samples[0], samples, refinement=False)
    resolution = ResolutionRun(prepared.graph)
    with torch.no_grad():
        resolution.run_on(samples[0])
    assert all(each.snr_db > 25 for each in resolution.layers())


def test_the_cause_has_the_widest_steps_and_not_the_widest_range() -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells = nn.GRU(4, 4, batch_first=True)

        def forward(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
            outputs, _ = self.cells(x, state)
            return outputs

    torch.manual_seed(0)
    samples = [(torch.randn(1, 4, 4), torch.randn(1, 1, 4).clamp(-1, 1)) for _ in range(4)]
    with quiet():
        prepared = prepare(Recurrent(), samples[0], samples, refinement=False)
    resolution = ResolutionRun(prepared.graph)
    with torch.no_grad():
        for sample in samples:
            resolution.run_on(sample)
    (layer,) = (each for each in resolution.layers() if "gru" in each.node)
    assert layer.steps == 255
