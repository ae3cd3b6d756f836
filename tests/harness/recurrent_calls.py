"""One small call of every operator with a loop over time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from harness.calls import Given, In, Out
from harness.examples import Array

STEPS, BATCH, FEATURES, UNITS, OUTPUTS = 3, 1, 4, 6, 7


def recurrent_calls() -> Mapping[str, tuple[Given, ...]]:
    sequence = In(_int8(STEPS, BATCH, FEATURES))
    out, longer = Out("int8", (STEPS, BATCH, UNITS)), Out("int8", (STEPS + 1, BATCH, UNITS))
    state, final = In(_int16(1, BATCH, UNITS)), Out("int16", (1, BATCH, UNITS))
    narrowing, place = (1 << 30, -7, 3), (0, False, False)
    initial = (1 << 30, -6)
    lstm = (*gate_product(4 * UNITS, FEATURES), *gate_product(4 * UNITS, OUTPUTS))
    gru = (*gate_product(3 * UNITS, FEATURES), *gate_product(3 * UNITS, UNITS))
    return {
        "cmbuild::quantized_lstm.out": (
            *(sequence, None, None, *lstm, *gate_product(OUTPUTS, UNITS), 12, 1 << 30, -22, 3),
            *(*initial, -5, *place, Out("int8", (STEPS, BATCH, OUTPUTS))),
        ),
        "cmbuild::quantized_lstm_state.out": (
            *(sequence, state, state),
            *(
                *gate_product(4 * UNITS, FEATURES),
                *gate_product(4 * UNITS, UNITS),
                None,
                None,
                None,
            ),
            *(11, 1 << 30, -22, 3, *initial, 3, *place, longer, final),
        ),
        "cmbuild::quantized_gru.out": (sequence, None, *gru, 15, *narrowing, *place, out),
        "cmbuild::quantized_gru_state.out": (
            *(sequence, state, *gru, 14, *narrowing, *place, longer, final),
        ),
        "cmbuild::quantized_rnn.out": (
            *(sequence, None, *gate_product(UNITS, FEATURES), *gate_product(UNITS, UNITS), "tanh"),
            *(*narrowing, *initial, *place, out),
        ),
        "cmbuild::quantized_svdf.out": (
            *(In(_int8(1, FEATURES)), In(_int16(1, UNITS, STEPS)), *gate_product(UNITS, FEATURES)),
            *(
                In(_int16(UNITS, STEPS), constant=True),
                In(np.arange(2, dtype=np.int32), constant=True),
            ),
            *(1 << 30, -22, 3, True, False, Out("int8", (1, 2)), Out("int16", (1, UNITS, STEPS))),
        ),
        "cmbuild::cat_states.out": ([state, state], 0, Out("int16", (2, BATCH, UNITS))),
    }


def gate_product(rows: int, depth: int) -> tuple[In, In, In]:
    """Weights, bias, and multipliers with shifts."""
    rescale = np.array([[1 << 30] * rows, [-3] * rows], np.int32)
    return (
        In(_int8(rows, depth), constant=True),
        In(np.arange(rows, dtype=np.int32), constant=True),
        In(rescale, constant=True),
    )


def _int8(*shape: int) -> Array:
    return (np.arange(np.prod(shape)) * 37 % 256 - 128).astype(np.int8).reshape(shape)


def _int16(*shape: int) -> Array:
    return (np.arange(np.prod(shape)) * 3001 % 65536 - 32768).astype(np.int16).reshape(shape)
