"""Places of extremes among int8 elements."""

from __future__ import annotations

import numpy as np
import torch
from harness.pte import operators
from torch import nn

from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.arithmetic import Arithmetic, arithmetics
from cmcompiler.ir.reference import evaluate
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target


class Classes(nn.Module):
    def __init__(self, has_scores: bool) -> None:
        super().__init__()
        self.layer, self.has_scores = nn.Linear(6, 5), has_scores

    def forward(self, x):
        scores = self.layer(x)
        best = scores.argmax(1)
        return (best, scores) if self.has_scores else best


def test_a_class_is_found_in_integers():
    torch.manual_seed(0)
    samples = [(torch.randn(4, 6),) for _ in range(8)]
    for has_scores in (False, True):
        module = Classes(has_scores).eval()
        quantized = quantize(module, samples[0], samples)
        program = lower(quantized, Target.parse("cortex-m55"))
        graph = build_graph(read_program(program))
        assert Arithmetic.FLOAT not in set(arithmetics(graph))
        assert operators(program).get("cortex_m::dequantize_per_tensor", 0) == has_scores
        actual = evaluate(graph, [samples[0][0].numpy()]).outputs[0]
        expected = quantized.program.module(check_guards=False)(*samples[0])
        expected = expected[0] if has_scores else expected
        assert np.array_equal(actual, expected.numpy())
