"""Outputs that join operands of very different ranges keep the steps of each."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cmcompiler.frontend.joined_outputs import REASON
from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attribute")  # of every export


class Heads(nn.Module):
    """Boxes and scores, joined in several ways; the last are read by a layer, alike, or fixed."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.boxes, self.scores = (
            nn.ModuleList(nn.Linear(8, 6) for _ in range(5)) for _ in range(2)
        )
        self.layer = nn.Linear(12, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        boxes, scores = ([layer(x) for layer in layers] for layers in (self.boxes, self.scores))
        return (
            torch.cat([100 * boxes[0], scores[0].sigmoid()], 1),
            torch.stack([scores[1], 100 * boxes[1]], 2),
            torch.relu(torch.cat([scores[2], 100 * boxes[2]], 1)).reshape(1, 2, 6),
            self.layer(torch.cat([scores[3], 100 * boxes[3]], 1)),
            torch.cat([scores[4], boxes[4]], 1),
            torch.cat([scores[4].softmax(1), boxes[4].softmax(1)], 1),
        )


def worst(exact: np.ndarray, actual: np.ndarray) -> float:
    """Of the elements' signal to noise ratios, in dB."""
    signal, noise = (np.square(x).sum(0) for x in (exact, exact - actual))
    seen = signal > 0
    return float(10 * np.log10(signal[seen] / np.maximum(noise[seen], 1e-12)).min())


def test_each_operand_keeps_its_range() -> None:
    torch.manual_seed(1)
    module, samples = Heads().eval(), [(torch.randn(1, 8),) for _ in range(12)]
    quantized = quantize(module, samples[0], samples)
    joined = [each for each in quantized.float_operators if each.reason == REASON]
    assert [each.operator for each in joined] == [
        *("aten.cat.default", "aten.stack.default", "aten.cat.default", "aten.relu.default"),
        "aten.reshape.default",
    ]
    graph = build_graph(read_program(lower(quantized, Target.parse("cortex-m55"))))
    with torch.no_grad():
        exact = [[y.numpy() for y in module(*sample)] for sample in samples]
    runs = evaluate_all(graph, [[x.numpy() for x in sample] for sample in samples])
    actual = [run.outputs for run in runs]
    for output in range(3):
        real, made = (np.stack([row[output] for row in rows]) for rows in (exact, actual))
        assert worst(real, made) > 25
