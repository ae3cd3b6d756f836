"""Writes small `.tflite` files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.tflite.operators import FORMS, OptionField
from cmcompiler.tflite.schema import (
    DTYPES,
    FILE_IDENTIFIER,
    BufferTable,
    BuiltinOperator,
    ModelTable,
    OperatorCodeTable,
    OperatorTable,
    QuantizationTable,
    SubGraphTable,
    TensorTable,
)
from harness.program_file import Scalar, Table, Vector, tables, text, whole, write_flatbuffer

CODES = {dtype: int(code) for code, dtype in DTYPES.items()}
LETTERS = {"byte": "b", "int": "i", "bool": "B", "float": "f"}


@dataclass
class TfliteFile:
    """A file of one subgraph, under construction."""

    tensors: list[Table] = field(default_factory=list)
    buffers: list[Table] = field(default_factory=lambda: [Table()])
    codes: list[str] = field(default_factory=list)
    operators: list[Table] = field(default_factory=list)

    def tensor(
        self,
        shape: Sequence[int],
        dtype: npt.DTypeLike = np.int8,
        *,
        scale: float | Sequence[float] | None = None,
        zero_point: int | Sequence[int] = 0,
        axis: int = 0,
        data: npt.NDArray[Any] | None = None,
        is_variable: bool = False,
        further: Mapping[int, Scalar | Vector | Table] | None = None,
    ) -> int:
        """Adds a tensor; returns its index."""
        fields: dict[int, Scalar | Vector | Table] = {
            TensorTable.SHAPE: Vector("i", list(shape)),
            TensorTable.TYPE: whole("b", CODES[np.dtype(dtype)]),
            TensorTable.BUFFER: whole("I", 0),
            TensorTable.NAME: text(f"t{len(self.tensors)}"),
            TensorTable.IS_VARIABLE: whole("B", is_variable),
        }
        if scale is not None:
            scales = np.atleast_1d(np.asarray(scale, np.float32))
            zero_points = np.broadcast_to(np.asarray(zero_point, np.int64), scales.shape)
            fields[TensorTable.QUANTIZATION] = Table(
                {
                    QuantizationTable.SCALE: Vector("f", scales.tolist()),
                    QuantizationTable.ZERO_POINT: Vector("q", zero_points.tolist()),
                    QuantizationTable.QUANTIZED_DIMENSION: whole("i", axis),
                }
            )
        if data is not None:
            fields[TensorTable.BUFFER] = whole("I", len(self.buffers))
            content = np.ascontiguousarray(data, dtype).tobytes()
            self.buffers.append(Table({BufferTable.DATA: Vector("B", content)}))
        self.tensors.append(Table(fields | dict(further or {})))
        return len(self.tensors) - 1

    def constant(self, data: npt.NDArray[Any], **quantization: Any) -> int:
        """Adds a constant of an array's shape and type; returns its index."""
        return self.tensor(data.shape, data.dtype, data=data, **quantization)

    def operator(
        self, name: str, inputs: Sequence[int], outputs: Sequence[int], **options: Any
    ) -> None:
        """Adds an operator; one with an unknown name is a custom one."""
        if name not in self.codes:
            self.codes.append(name)
        fields: dict[int, Scalar | Vector | Table] = {
            OperatorTable.OPCODE_INDEX: whole("I", self.codes.index(name)),
            OperatorTable.INPUTS: Vector("i", list(inputs)),
            OperatorTable.OUTPUTS: Vector("i", list(outputs)),
        }
        if name in FORMS and FORMS[name].table:
            form = FORMS[name]
            known = {option.name: option for option in form.options}
            content = {known[key].slot: _option(known[key], options[key]) for key in options}
            fields[OperatorTable.BUILTIN_OPTIONS_TYPE] = whole("B", form.table)
            fields[OperatorTable.BUILTIN_OPTIONS] = Table(content)
        self.operators.append(Table(fields))

    def write(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The file with these inputs and outputs."""
        subgraph = Table(
            {
                SubGraphTable.TENSORS: tables(self.tensors),
                SubGraphTable.INPUTS: Vector("i", list(inputs)),
                SubGraphTable.OUTPUTS: Vector("i", list(outputs)),
                SubGraphTable.OPERATORS: tables(self.operators),
            }
        )
        fields: dict[int, Scalar | Vector | Table] = {
            ModelTable.VERSION: whole("I", 3),
            ModelTable.OPERATOR_CODES: tables([_code(name) for name in self.codes]),
            ModelTable.SUBGRAPHS: tables([subgraph]),
            ModelTable.BUFFERS: tables(self.buffers),
        }
        return bytes(write_flatbuffer(FILE_IDENTIFIER, Table(fields)))


def _code(name: str) -> Table:
    is_known = name in BuiltinOperator.__members__
    number = BuiltinOperator[name] if is_known else BuiltinOperator["CUSTOM"]
    fields: dict[int, Scalar | Vector | Table] = {
        OperatorCodeTable.DEPRECATED_BUILTIN_CODE: whole("b", min(number, 127)),
        OperatorCodeTable.VERSION: whole("i", 1),
        OperatorCodeTable.BUILTIN_CODE: whole("i", number),
    }
    if not is_known:
        fields[OperatorCodeTable.CUSTOM_CODE] = text(name)
    return Table(fields)


def _option(option: OptionField, value: Any) -> Scalar | Vector:
    if option.kind == "ints":
        return Vector("i", list(value))
    return whole(LETTERS[option.kind], value)
