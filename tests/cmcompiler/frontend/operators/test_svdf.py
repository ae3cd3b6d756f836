"""A network of SVDF layers in int8: near to float over a sequence, and one operator each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from cmcompiler import api
from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.source import find_source
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target

MODELS = Path(__file__).parents[3] / "data" / "models"


def test_a_sequence() -> None:
    loaded = find_source(f"{MODELS / 'sequences.py'}:svdf").load(0, None)
    module, frames = loaded.module, list(loaded.calibration)
    quantized = quantize(module, frames[0], frames)
    assert quantized.float_operators == ()
    graph = build_graph(read_program(lower(quantized, Target.parse("cortex-m55"))))
    labels = [node.op.label for node in graph.nodes]
    assert labels.count("svdf") == 2
    assert set(labels) == {"svdf", "linear", "quantize", "dequantize", "store"}
    assert [state.initial.dtype for state in graph.states] == [np.int16, np.int16]
    with torch.no_grad():
        real = np.stack([module(*frame).numpy() for frame in frames])
    arrays = [[x.numpy() for x in frame] for frame in frames]
    actual = np.stack([run.outputs[0] for run in evaluate_all(graph, arrays)])
    assert 10 * np.log10(np.square(real).sum() / np.square(actual - real).sum()) > 35


def test_a_sequence_of_int16() -> None:
    loaded = find_source(f"{MODELS / 'sequences.py'}:svdf").load(0, None)
    module, frames = loaded.module, list(loaded.calibration)
    short = api.compile(module, frames[0], frames, activations="int16")
    assert {tensor.dtype.name for node in short.graph.nodes for tensor in node.outputs} == {
        *("int16", "float32")
    }
    assert short.fidelity.faithful
    with torch.no_grad():
        real = np.stack([module(*frame).numpy() for frame in frames])
    arrays = [[x.numpy() for x in frame] for frame in frames]
    results = np.stack([run.outputs[0] for run in evaluate_all(short.graph, arrays)])
    assert 10 * np.log10(np.square(real).sum() / np.square(results - real).sum()) > 44
