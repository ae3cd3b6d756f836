"""The tensors of a `.tflite` file, and the bytes of its constants."""

from __future__ import annotations

import math
from math import prod

import numpy as np

from cmcompiler.errors import InvalidProgram, Unsupported
from cmcompiler.pte.flatbuffer import TableReader
from cmcompiler.pte.program import StoredQuantization, TensorValue
from cmcompiler.pte.values import MOST_DIMENSIONS, MOST_ELEMENTS
from cmcompiler.tflite import schema
from cmcompiler.tflite.schema import DTYPES, ModelTable, TensorTable

AXIS = schema.QuantizationTable.QUANTIZED_DIMENSION


class Buffers:
    """The bytes of constants."""

    def __init__(self, file: memoryview, model: TableReader) -> None:
        self._file = file
        self._tables = list(model.tables(ModelTable.BUFFERS))

    def read(self, index: int) -> memoryview | None:
        """None if it is empty: of a tensor that is computed."""
        if index >= len(self._tables):
            raise InvalidProgram(f"the program is corrupt: buffer {index} does not exist")
        table = self._tables[index]
        offset = table.uint64(schema.BufferTable.OFFSET)
        if offset > 1:  # beyond the FlatBuffer, in files of more than 2 GiB
            size = table.uint64(schema.BufferTable.SIZE)
            if offset + size > len(self._file):
                raise InvalidProgram(f"the program is truncated: buffer {index} ends after it")
            return self._file[offset : offset + size]
        return table.bytes(schema.BufferTable.DATA) or None


def read_tensor(number: int, table: TableReader, buffers: Buffers) -> TensorValue:
    """A tensor of static shape; its data if it is a constant.

    Raises:
        InvalidProgram: it is malformed.
        Unsupported: it is sparse, too large, or of a type that no kernel has.
    """
    label = f"tensor {number}"
    shape = table.int32s(TensorTable.SHAPE)
    if -1 in shape and min(shape) == -1:
        raise Unsupported(
            f"{label} has dimensions of unknown size: {list(shape)}",
            "convert it for inputs of fixed shapes",
        )
    if len(shape) > MOST_DIMENSIONS or min(shape, default=0) < 0:
        raise InvalidProgram(f"{label} of the program has a malformed shape")
    if table.table(TensorTable.SPARSITY) is not None:
        raise Unsupported(
            f"sparse models are not supported: {label} is sparse",
            "convert it without tf.lite.Optimize.EXPERIMENTAL_SPARSITY",
        )
    code = table.int8(TensorTable.TYPE)
    is_narrow = code == schema.TensorType.INT4
    if is_narrow:
        code = schema.TensorType.INT8
    if code not in DTYPES:
        known = {item.value: item.name for item in schema.TensorType}
        raise Unsupported(f"{label} has type {known.get(code, 'unknown')} ({code})")
    dtype = DTYPES[code]
    # NumPy ignores zeros when it checks a shape's size.
    if prod(max(size, 1) for size in shape) > MOST_ELEMENTS:
        raise Unsupported(f"{label} has more than {MOST_ELEMENTS:,} elements: {list(shape)}")
    quantization = _quantization(label, table, shape)
    order = tuple(range(len(shape)))
    value = TensorValue(dtype, shape, order, quantization=quantization)
    data = buffers.read(table.uint32(TensorTable.BUFFER))
    if data is None or table.boolean(TensorTable.IS_VARIABLE):
        if is_narrow:
            raise Unsupported(f"{label} has type INT4, which only constants may have")
        return value
    size = (value.nbytes + 1) // 2 if is_narrow else value.nbytes
    if len(data) < size:
        raise InvalidProgram(
            f"the program is corrupt: {label} has {size:,} bytes, its buffer has {len(data):,}"
        )
    data = _unpacked(data[:size], value.nbytes) if is_narrow else data[:size]
    return TensorValue(dtype, shape, order, data, quantization=quantization)


def _unpacked(pairs: memoryview, count: int) -> memoryview:
    """So many signed numbers of four bits as bytes: the first of two is in the low half."""
    both = np.frombuffer(pairs, np.int8)
    numbers = np.stack([both << 4 >> 4, both >> 4], axis=1)
    return memoryview(numbers.reshape(-1)[:count].tobytes())


def _quantization(
    label: str, table: TableReader, shape: tuple[int, ...]
) -> StoredQuantization | None:
    quantization = table.table(TensorTable.QUANTIZATION)
    scales = () if quantization is None else quantization.float32s(schema.QuantizationTable.SCALE)
    if quantization is None or not scales:
        return None
    zero_points = quantization.int64s(schema.QuantizationTable.ZERO_POINT) or (0,) * len(scales)
    # A vector has no other dimension, whatever old converters wrote: that of the weights.
    axis = 0 if len(shape) == 1 else quantization.int32(AXIS)
    if len(zero_points) == 1:
        zero_points *= len(scales)
    is_whole = len(scales) == 1 or (0 <= axis < len(shape) and shape[axis] == len(scales))
    if not is_whole or len(zero_points) != len(scales):
        raise InvalidProgram(f"{label} of the program has a malformed quantisation")
    if not all(math.isfinite(scale) and scale >= 0 for scale in scales):
        raise InvalidProgram(f"{label} of the program has a scale that is not positive")
    return StoredQuantization(scales, zero_points, axis)
