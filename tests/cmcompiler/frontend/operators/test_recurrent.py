"""Lowered recurrent layers compute what the float operators do, within int8."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from harness.calls import In, Out, calling
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from cmcompiler.frontend import operators
from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.quantized_op import QUANTIZED, QuantizedCall
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.quantization import Quantization
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.ops.gru import STATE_BITS
from cmcompiler.ops.lstm import CELL_BITS
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target

operators.define()
"""Registered once: torch keeps them for the life of the process."""

pytestmark = [
    pytest.mark.filterwarnings("ignore:The tensor attribute"),  # of every export
    pytest.mark.filterwarnings("ignore:LSTM with projections"),  # torch's own kernel is slower
]

BATCH = 2


def observed(x: Tensor) -> Quantization:
    low, high = min(x.min().item(), 0.0), max(x.max().item(), 0.0)
    scale = max((high - low) / 255, 1e-9)
    return Quantization(scale, round(-128 - low / scale), -128, 127)


def snr(actual: Any, real: Any) -> float:
    noise = np.square(np.asarray(actual) - real).sum()
    return float(10 * np.log10(np.square(real).sum() / noise))


def int8_snr(operator: str, arguments: list[Any], constants: range) -> float:
    """Of the int8 operator's outputs against the float one's, in dB."""
    own = getattr(torch.ops.cmbuild, operator).default
    registered, x = QUANTIZED[own], arguments[0]
    real = own(*arguments)
    outputs = real if isinstance(real, tuple) else (real,)
    source, output = observed(x), observed(outputs[0])
    inputs = {0: source}
    given: list[Any] = [In(((x / source.scale).round() + source.zero_point).to(torch.int8).numpy())]
    for position, fixed in registered.states.items():
        if arguments[position] is not None:
            scale = fixed or arguments[position].abs().max().item() / 32767
            inputs[position] = Quantization(scale, 0, -32768, 32767)
            steps = (arguments[position] / scale).round().clamp(-32768, 32767)
            arguments[position] = In(steps.to(torch.int16).numpy())
    held = {i: arguments[i] for i in constants if arguments[i] is not None}
    call = QuantizedCall([*given, *arguments[1:]], inputs, output, held)
    lowered, numbers = registered.lowering(call)
    made = [In(n.numpy(), constant=True) if isinstance(n, Tensor) else n for n in numbers]
    results = [Out("int8", tuple(outputs[0].shape))]
    results += [Out("int16", tuple(state.shape)) for state in outputs[1:]]
    example = calling(f"{lowered._schema.name}.out", *made, *results)
    rows, *finals = example.reference.outputs
    scales = [output.scale, *(registered.final or 0.0 for _ in finals)]
    centred = [rows.astype(float) - output.zero_point, *finals]
    return min(
        snr(array * scale, exact.numpy())
        for array, scale, exact in zip(centred, scales, outputs, strict=True)
    )


CASES = st.tuples(
    st.integers(0, 1000), st.sampled_from([1, 7, 30]), st.booleans(), st.booleans(), st.booleans()
)


@settings(max_examples=15)
@given(CASES, st.sampled_from([None, 5]))
def test_lstm(case: tuple[int, int, bool, bool, bool], outputs: int | None) -> None:
    seed, steps, batch_first, reverse, has_state = case
    torch.manual_seed(seed)
    layer = nn.LSTM(9, 12, proj_size=outputs or 0)
    weights = [parameter.detach() for parameter in layer.parameters()]
    states = [torch.randn(3, BATCH, outputs or 12), torch.randn(3, BATCH, 12)]
    x = torch.randn(*((BATCH, steps) if batch_first else (steps, BATCH)), 9)
    arguments = [x, *(states if has_state else (None, None)), *weights]
    arguments += [None] * (outputs is None)
    place = [CELL_BITS, 2 if has_state else 0, batch_first, reverse]
    name = "lstm_state" if has_state else "lstm"
    assert int8_snr(name, [*arguments, *place], range(3, 8)) > 25


@settings(max_examples=15)
@given(CASES)
def test_gru(case: tuple[int, int, bool, bool, bool]) -> None:
    seed, steps, batch_first, reverse, has_state = case
    torch.manual_seed(seed)
    weights = [parameter.detach() for parameter in nn.GRU(9, 12).parameters()]
    x = torch.randn(*((BATCH, steps) if batch_first else (steps, BATCH)), 9)
    state = torch.randn(BATCH, 12) if has_state else None
    name = "gru_state" if has_state else "gru"
    place = [STATE_BITS, 0, batch_first, reverse]
    assert int8_snr(name, [x, state, *weights, *place], range(2, 6)) > 25


@settings(max_examples=15)
@given(CASES, st.sampled_from(["tanh", "relu"]))
def test_rnn(case: tuple[int, int, bool, bool, bool], function: str) -> None:
    seed, steps, batch_first, reverse, has_state = case
    torch.manual_seed(seed)
    weights = [parameter.detach() for parameter in nn.RNN(9, 12).parameters()]
    x = 2 * torch.randn(*((BATCH, steps) if batch_first else (steps, BATCH)), 9)
    state = torch.randn(1, BATCH, 12) if has_state else None
    place = [function, 0, batch_first, reverse]
    assert int8_snr("rnn", [x, state, *weights, *place], range(2, 6)) > 25


def test_slow_states_of_a_gru_do_not_stall() -> None:
    """Steps of less than an int8 step add up: the state has 16 bits."""
    units = 4
    weights = [torch.zeros(3 * units, 2), torch.zeros(3 * units, units)]
    biases = [torch.zeros(3 * units), torch.zeros(3 * units)]
    biases[0][units : 2 * units] = 5
    biases[0][2 * units :] = 0.5
    arguments = [torch.ones(300, 1, 2), None, *weights, *biases, STATE_BITS, 0, False, False]
    assert int8_snr("gru", arguments, range(2, 6)) > 40


class Streaming(nn.Module):
    """A frame a run: two layers of LSTM and one of GRU that keep their states."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LSTM(6, 16, 2), nn.GRU(16, 16)
        self.head = nn.Linear(16, 3)
        self.hidden = nn.Buffer(torch.zeros(2, 1, 16))
        self.cell = nn.Buffer(torch.zeros(2, 1, 16))
        self.state = nn.Buffer(torch.zeros(1, 1, 16))

    def forward(self, x: Tensor) -> Tensor:
        y, (hidden, cell) = self.first(x, (self.hidden, self.cell))
        self.hidden.copy_(hidden)
        self.cell.copy_(cell)
        y, state = self.second(y, self.state)
        self.state.copy_(state)
        return self.head(y[-1])


def test_states_in_buffers_carry_over_from_run_to_run() -> None:
    torch.manual_seed(0)
    module, frames = Streaming().eval(), [(torch.randn(1, 1, 6),) for _ in range(40)]
    quantized = quantize(module, frames[0], frames)
    assert quantized.float_operators == ()
    program = read_program(lower(quantized, Target.parse("cortex-m55")))
    graph = build_graph(program)
    in_float = {
        node.op.label
        for node in graph.nodes
        if any(tensor.dtype == np.float32 for tensor in (*node.inputs, *node.outputs))
    }
    assert in_float <= {"quantize", "dequantize", "view", "store"}
    with torch.no_grad():
        real = np.stack([module(*frame).numpy() for frame in frames])
    arrays = [[x.numpy() for x in frame] for frame in frames]
    actual = np.stack([run.outputs[0] for run in evaluate_all(graph, arrays)])
    assert snr(actual, real) > 35
