"""The kinds of TensorFlow Lite models that are refused as a whole, and how to convert them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cmcompiler.errors import Unsupported
from cmcompiler.pte.program import KernelInstruction, TensorList, TensorValue, Value
from cmcompiler.tflite.operators import PREFIX

FULL_INTEGER = (
    "convert it with full integer quantisation: optimizations, a representative_dataset, and "
    "target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]"
)

FLOAT_ALONE = "it is for floats alone: replace it in the model, such as -x by 0 - x, or keep it so"

WEIGHTED = frozenset(
    PREFIX + name
    for name in (
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "FULLY_CONNECTED",
        "TRANSPOSE_CONV",
        "BATCH_MATMUL",
        "SVDF",
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        "LSTM",
    )
)
"""Operators whose inputs tell the kind of a model."""

QUANTIZED = (np.int8, np.int16)
"""Types of numbers that models compute in."""

CONVERSIONS = frozenset(PREFIX + name for name in ("QUANTIZE", "DEQUANTIZE", "CAST"))
"""Operators between floats and integers, which every kind may have."""


def refuse_kind(instructions: Sequence[KernelInstruction], values: Sequence[Value]) -> None:
    """Refuses a model of floats, of uint8, or with activations of floats.

    Operators without weights may compute in floats where others compute in integers: converters
    leave those that have no integer form.

    Raises:
        Unsupported: names the kind, the first operator that tells it, and how to convert the model.
    """
    calls = [each for each in enumerate(instructions) if each[1].operator not in CONVERSIONS]
    is_quantized = any(
        isinstance(value, TensorValue) and value.quantization and value.dtype in QUANTIZED
        for value in values
    )
    for number, call in sorted(calls, key=lambda each: each[1].operator not in WEIGHTED):
        if call.operator in WEIGHTED or not is_quantized:
            _refuse(f"{call.operator.removeprefix(PREFIX)} #{number}", call, values)


def _refuse(label: str, call: KernelInstruction, values: Sequence[Value]) -> None:
    tensors = list(_tensors(call, values))
    computed = {tensor.dtype for tensor in tensors if not tensor.is_constant}
    weights = {tensor.dtype for tensor in tensors if tensor.is_constant and len(tensor.sizes) > 1}
    is_weighted = call.operator in WEIGHTED
    floats = sorted(dtype.name for dtype in computed if dtype.kind == "f")
    if floats:
        if is_weighted and weights & {np.dtype(np.int8), np.dtype(np.uint8)}:
            raise Unsupported(
                f"dynamic-range (hybrid) models are not supported: {label} has int8 weights and "
                "float activations",
                FULL_INTEGER,
            )
        raise Unsupported(
            f"{'float models' if is_weighted else 'float operators'} are not supported: {label} "
            f"computes in {floats[0]}",
            FULL_INTEGER,
        )
    if np.dtype(np.uint8) in computed and any(t.quantization is not None for t in tensors):
        raise Unsupported(
            f"uint8 models, of TensorFlow 1, are not supported: {label} computes in uint8",
            FULL_INTEGER,
        )


def _tensors(call: KernelInstruction, values: Sequence[Value]) -> Iterator[TensorValue]:
    """The tensor arguments of an instruction, including those in lists."""
    for index in call.arguments:
        value = values[index]
        members = value.items if isinstance(value, TensorList) else (index,)
        for member in members:
            tensor = None if member is None else values[member]
            if isinstance(tensor, TensorValue):
                yield tensor
