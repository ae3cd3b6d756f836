"""Parses the bytes of a `.tflite` file into a program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod

from cmcompiler.errors import InvalidProgram, Unsupported
from cmcompiler.pte.container import LARGEST
from cmcompiler.pte.flatbuffer import FlatBuffer, TableReader
from cmcompiler.pte.program import (
    KernelInstruction,
    Method,
    Program,
    RefusedMethod,
    StoredQuantization,
    TensorList,
    TensorValue,
    Value,
)
from cmcompiler.pte.reader import LONGEST_NAME
from cmcompiler.pte.values import MOST_DIMENSIONS, MOST_ELEMENTS
from cmcompiler.tflite import schema
from cmcompiler.tflite.kinds import refuse_kind
from cmcompiler.tflite.operators import FORMS, PREFIX, Form, assign
from cmcompiler.tflite.schema import (
    DTYPES,
    BuiltinOperator,
    BuiltinOptions,
    ModelTable,
    SubGraphTable,
    TensorTable,
)

METHOD = "forward"
"""The name of the main subgraph as a method."""

_CODES = frozenset(BuiltinOperator)


def is_tflite(data: bytes | memoryview) -> bool:
    """Whether a file starts like a `.tflite` file."""
    return bytes(data[4:8]) == schema.FILE_IDENTIFIER


def read_tflite(data: bytes | memoryview) -> Program:
    """Parses and checks a whole program; constants are views of `data`.

    Every offset, length, index and size product is checked, so the result is consistent. Time and
    memory are linear in the size of `data`.

    The main subgraph becomes the method `forward`, each operator an instruction `tflite::NAME` with
    its inputs, options and outputs as arguments.

    Raises:
        InvalidProgram: not a well-formed program.
        Unsupported: another schema, or more than 2 GiB.
    """
    view = memoryview(data).toreadonly()
    if len(view) > LARGEST:
        raise Unsupported(f"the program has {len(view):,} bytes, the limit is {LARGEST:,}")
    if not is_tflite(view):
        raise InvalidProgram("not a TensorFlow Lite program: it does not start like a .tflite file")
    model = FlatBuffer(view).root
    version = model.uint32(ModelTable.VERSION)
    if version != 3:
        raise Unsupported(f"the program has schema version {version}, not 3")
    subgraphs = list(model.tables(ModelTable.SUBGRAPHS))
    if not subgraphs:
        raise InvalidProgram("the program does not have a subgraph")
    buffers = _Buffers(view, model)
    names = [_operator_name(code) for code in model.tables(ModelTable.OPERATOR_CODES)]
    try:
        method = _Subgraph(subgraphs[0], buffers, names).method()
    except Unsupported as reason:
        return Program(version, (RefusedMethod(METHOD, reason),))
    return Program(version, (method,))


def _operator_name(code: TableReader) -> str:
    old = code.int8(schema.OperatorCodeTable.DEPRECATED_BUILTIN_CODE)
    number = max(old, code.int32(schema.OperatorCodeTable.BUILTIN_CODE))
    if number == BuiltinOperator.CUSTOM:
        name = code.string(schema.OperatorCodeTable.CUSTOM_CODE)
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise InvalidProgram("the program is corrupt: a custom operator's name is malformed")
        return name
    return BuiltinOperator(number).name if number in _CODES else f"operator {number}"


class _Buffers:
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


class _Subgraph:
    """The values and instructions of one subgraph, while they are read."""

    def __init__(self, table: TableReader, buffers: _Buffers, names: Sequence[str]) -> None:
        self._buffers = buffers
        self._tensors = list(table.tables(SubGraphTable.TENSORS))
        self._values: list[Value] = [None] * len(self._tensors)
        self._read: set[int] = set()
        self._names = names
        self._table = table
        self._none: int | None = None

    def method(self) -> Method:
        inputs = self._indices(self._table.int32s(SubGraphTable.INPUTS), "input")
        outputs = self._indices(self._table.int32s(SubGraphTable.OUTPUTS), "output")
        instructions = tuple(
            self._instruction(number, operator)
            for number, operator in enumerate(self._table.tables(SubGraphTable.OPERATORS))
        )
        for index in (*inputs, *outputs):
            self._use(index)
        refuse_kind(instructions, self._values)
        return Method(METHOD, tuple(self._values), inputs, outputs, instructions, (0,))

    def _indices(self, indices: Sequence[int], label: str) -> tuple[int, ...]:
        for index in indices:
            if not 0 <= index < len(self._tensors):
                raise InvalidProgram(
                    f"{label} of the program is tensor {index} of {len(self._tensors)}"
                )
        return tuple(indices)

    def _instruction(self, number: int, table: TableReader) -> KernelInstruction:
        code = table.uint32(schema.OperatorTable.OPCODE_INDEX)
        if code >= len(self._names):
            raise InvalidProgram(f"operator #{number} has code {code} of {len(self._names)}")
        name = self._names[code]
        label = f"{name} #{number}"
        inputs = table.int32s(schema.OperatorTable.INPUTS)
        outputs = table.int32s(schema.OperatorTable.OUTPUTS)
        self._indices([index for index in (*inputs, *outputs) if index != -1], label)
        form = FORMS.get(name)
        if form is None:
            arguments = [self._use(index) for index in (*inputs, *outputs)]
        else:
            arguments = self._arguments(label, form, table, inputs, outputs)
        return KernelInstruction(f"{PREFIX}{name}", tuple(arguments))

    def _arguments(
        self,
        label: str,
        form: Form,
        table: TableReader,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
    ) -> list[int]:
        options = None
        if form.table != BuiltinOptions.NONE:
            options = table.table(schema.OperatorTable.BUILTIN_OPTIONS)
        if options is not None:
            kind = table.uint8(schema.OperatorTable.BUILTIN_OPTIONS_TYPE)
            if kind != form.table:
                raise InvalidProgram(f"{label} has options of type {kind}, not {form.table}")
        before = [self._operand(each) for each in assign(label, form.inputs, inputs)]
        between = [self._add(option.read(options)) for option in form.options]
        after = [self._operand(each) for each in assign(label, form.outputs, outputs)]
        return [*before, *between, *after]

    def _operand(self, operand: int | tuple[int, ...]) -> int:
        if isinstance(operand, int):
            return self._use(operand)
        for index in operand:
            self._use(index)
        return self._add(TensorList(tuple(None if i == -1 else i for i in operand)))

    def _use(self, index: int) -> int:
        """The value of a tensor that something reads or writes; of -1, the one that is None."""
        if index == -1:
            if self._none is None:
                self._none = self._add(None)
            return self._none
        if index not in self._read:
            self._read.add(index)
            self._values[index] = self._tensor(index, self._tensors[index])
        return index

    def _add(self, value: Value) -> int:
        self._values.append(value)
        return len(self._values) - 1

    def _tensor(self, number: int, table: TableReader) -> TensorValue:
        label = f"tensor {number}"
        shape = table.int32s(TensorTable.SHAPE)
        if len(shape) > MOST_DIMENSIONS or min(shape, default=0) < 0:
            raise InvalidProgram(f"{label} of the program has a malformed shape")
        if table.table(TensorTable.SPARSITY) is not None:
            raise Unsupported(f"{label} is sparse", "convert without sparse weights")
        code = table.int8(TensorTable.TYPE)
        if code not in DTYPES:
            known = {item.value: item.name for item in schema.TensorType}
            raise Unsupported(f"{label} has type {known.get(code, 'unknown')} ({code})")
        dtype = DTYPES[code]
        # NumPy ignores zeros when it checks a shape's size.
        if prod(max(size, 1) for size in shape) > MOST_ELEMENTS:
            raise Unsupported(f"{label} has more than {MOST_ELEMENTS:,} elements: {list(shape)}")
        quantization = self._quantization(label, table, shape)
        order = tuple(range(len(shape)))
        value = TensorValue(dtype, shape, order, quantization=quantization)
        data = self._buffers.read(table.uint32(TensorTable.BUFFER))
        if data is None or table.boolean(TensorTable.IS_VARIABLE):
            return value
        if len(data) < value.nbytes:
            raise InvalidProgram(
                f"the program is corrupt: {label} has {value.nbytes:,} bytes, its buffer has "
                f"{len(data):,}"
            )
        data = data[: value.nbytes]
        return TensorValue(dtype, shape, order, data, quantization=quantization)

    def _quantization(
        self, label: str, table: TableReader, shape: tuple[int, ...]
    ) -> StoredQuantization | None:
        found = table.table(TensorTable.QUANTIZATION)
        scales = () if found is None else found.float32s(schema.QuantizationTable.SCALE)
        if found is None or not scales:
            return None
        zero_points = found.int64s(schema.QuantizationTable.ZERO_POINT) or (0,) * len(scales)
        axis = found.int32(schema.QuantizationTable.QUANTIZED_DIMENSION)
        if len(zero_points) == 1:
            zero_points *= len(scales)
        is_whole = len(scales) == 1 or (0 <= axis < len(shape) and shape[axis] == len(scales))
        if not is_whole or len(zero_points) != len(scales):
            raise InvalidProgram(f"{label} of the program has a malformed quantisation")
        if not all(math.isfinite(scale) and scale >= 0 for scale in scales):
            raise InvalidProgram(f"{label} of the program has a scale that is not positive")
        return StoredQuantization(scales, zero_points, axis)
