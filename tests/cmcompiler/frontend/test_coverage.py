"""People's models run in integers and stay close to float."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.coverage import cover, is_float
from harness.examples import Example
from harness.quantized_graph import steps_from_torch
from harness.runtime import Runtime

from cmcompiler.frontend.lowering import lower_with_nodes
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.source import find_source
from cmcompiler.importer.build import build_graph
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target

MODELS = Path(__file__).parents[2] / "data" / "models"

CONVOLUTIONS = 30
SEQUENCES = 25

COVERED: dict[str, int] = {
    "gestures.py:pointnet": CONVOLUTIONS,
    "gestures.py:temporal": CONVOLUTIONS,
    "sequences.py:bidirectional_gru": SEQUENCES,
    "sequences.py:bidirectional_lstm": SEQUENCES,
    "sequences.py:crnn": SEQUENCES,
    "sequences.py:encoder": SEQUENCES,
    "sequences.py:gru": SEQUENCES,
    "sequences.py:long_lstm": SEQUENCES,
    "sequences.py:lstm": SEQUENCES,
    "sequences.py:rnn": SEQUENCES,
    "sequences.py:svdf": SEQUENCES,
    "sequences.py:vit": SEQUENCES,
}
"""Models with at least 99 % of their multiply-accumulates in integer kernels, and their dB."""


@pytest.mark.parametrize("name", ["assigned", "gallery", "samples"])
def test_a_mixed_gallery_has_nothing_in_float(name: str, runtime: Runtime) -> None:
    loaded = find_source(f"{MODELS / 'mixed.py'}:{name}").load(0, None)
    samples = list(loaded.calibration)
    quantized = quantize(loaded.module, loaded.example_inputs, samples, refinement=False)
    assert quantized.float_operators == ()
    lowered = lower_with_nodes(quantized, Target.parse("cortex-m55"))
    graph = build_graph(read_program(lowered.program))
    titles = {node.op.title for node in graph.nodes if is_float(node)}
    assert titles <= {"quantize", "dequantize"}
    arrays = tuple(x.numpy() for x in samples[0])
    runtime.check(Example(graph, arrays, name))
    steps = steps_from_torch(quantized, lowered, graph, [arrays])
    assert {key: each for key, each in steps.items() if each is None or each > 1} == {}
    assert len(steps) >= 24


@pytest.mark.long
@pytest.mark.parametrize("model", COVERED)
def test_models_run_in_integers_and_close_to_float(model: str) -> None:
    coverage = cover(str(MODELS / model))
    assert coverage.share >= 0.99, coverage
    assert coverage.snr >= COVERED[model], coverage
