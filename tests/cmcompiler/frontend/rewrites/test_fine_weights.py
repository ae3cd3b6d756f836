"""Layers before a softmax of wide logits get 16-bit weights with int16 activations."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from cmcompiler.frontend.operators import define
from cmcompiler.frontend.rewrites.order import rewrite
from cmcompiler.frontend.rewrites.sampled import note_samples
from cmcompiler.frontend.sensitivity import snr


def layers_and_ratio(gain: float, precision: str) -> tuple[int, float]:
    """Layers of a classifier, and what rounding nothing leaves of its outputs, in dB.

    Args:
        gain: of its logits, which change slowly from class to class.
    """
    define()
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 48), nn.Softmax(-1))
    places = torch.arange(48.0)
    smooth = torch.exp(-(((places[:, None] - places) / 6) ** 2))
    with torch.no_grad():
        module[2].weight.copy_(gain * smooth @ module[2].weight)
    samples = [(torch.randn(1, 8),) for _ in range(8)]
    graph = torch.export.export(module.eval(), samples[0]).module(check_guards=False)
    note_samples(graph, samples)
    made = rewrite(graph, precision=(("*", precision),))
    linear = torch.ops.cmbuild.short_linear.default
    layers = [node for node in made.graph.nodes if node.target is linear]
    with torch.no_grad():
        pairs = [(module(*sample), made(*sample)) for sample in samples]
    return len(layers), snr(*zip(*pairs, strict=True))


@pytest.mark.parametrize(
    ("gain", "precision", "layers"),
    [(30.0, "8w16a", 4), (1.0, "8w16a", 2), (30.0, "4w16a", 2), (1.0, "16w16a", 4)],
)
def test_sharp_softmaxes_get_fine_weights(gain: float, precision: str, layers: int) -> None:
    count, ratio = layers_and_ratio(gain, precision)
    assert count == layers
    assert ratio > 60
