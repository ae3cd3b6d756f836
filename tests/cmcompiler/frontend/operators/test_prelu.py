"""PReLU with a slope per channel, in whole programs."""

from __future__ import annotations

import numpy as np
import torch
from harness.pte import operators
from torch import nn

from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target


def test_programs_compute_prelus_of_images_sequences_and_vectors():
    torch.manual_seed(0)
    layers = nn.Sequential(
        *(nn.Conv2d(2, 6, 3), nn.PReLU(6), nn.Flatten(2), nn.Conv1d(6, 8, 3), nn.PReLU(8)),
        *(nn.Flatten(), nn.Linear(8 * 34, 5), nn.PReLU(5)),
    ).eval()
    for layer in layers:
        if isinstance(layer, nn.PReLU):
            nn.init.uniform_(layer.weight, -0.5, 1.5)
    samples = [(torch.randn(1, 2, 8, 8),) for _ in range(8)]
    quantized = quantize(layers, samples[0], samples)
    assert quantized.float_operators == ()
    pte = lower(quantized, Target.parse("cortex-m55"))
    assert operators(pte)["cmbuild::quantized_prelu"] == 3
    graph = build_graph(read_program(pte))
    exact = np.concatenate([layers(*x).detach().numpy() for x in samples])
    results = np.concatenate([evaluate(graph, [x.numpy()]).outputs[0] for (x,) in samples])
    noise = np.square(results - exact).sum()
    assert 10 * np.log10(np.square(exact).sum() / noise) > 30
