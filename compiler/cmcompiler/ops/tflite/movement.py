"""RESHAPE."""

from __future__ import annotations

from cmcompiler.decode.call import Call
from cmcompiler.ops.tflite._scales import tflite_op


@tflite_op("RESHAPE")
def read_reshape(call: Call) -> None:
    source, output = call.tensor("input"), call.output("out")
    if source.numel != output.numel or source.dtype != output.dtype:
        call.invalid(f"{list(source.shape)} to {list(output.shape)}")
    call.move(call.reshape(source, output.shape), output)
