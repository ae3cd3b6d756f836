"""Bilinear upsampling of images and sequences stays in int8."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from harness.pte import operators
from torch import nn

from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target


@pytest.mark.parametrize(
    ("layers", "shape"),
    [
        ([nn.Conv2d(3, 4, 3), nn.Upsample(scale_factor=2, mode="bilinear")], (1, 3, 6, 7)),
        (
            [nn.Conv1d(3, 4, 3), nn.Upsample(21, mode="linear", align_corners=True)],
            (1, 3, 9),
        ),
    ],
)
def test_models_stay_in_int8(layers, shape):
    torch.manual_seed(0)
    module = nn.Sequential(*layers, nn.ReLU()).eval()
    samples = [(torch.randn(shape),) for _ in range(8)]
    quantized = quantize(module, samples[0], samples)
    assert quantized.float_operators == ()
    data = lower(quantized, Target.parse("cortex-m55"))
    assert operators(data)["cmbuild::quantized_upsample_bilinear2d"] == 1
    graph = build_graph(read_program(data))
    actual = np.concatenate([evaluate(graph, [x.numpy()]).outputs[0] for (x,) in samples])
    exact = np.concatenate([module(x).detach().numpy() for (x,) in samples])
    assert 10 * np.log10(np.sum(exact**2) / np.sum((actual - exact) ** 2)) > 30
