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
    BuiltinOptions,
    ModelTable,
    OperatorCodeTable,
    OperatorTable,
    QuantizationTable,
    SubGraphTable,
    TensorTable,
)
from harness.program_file import Scalar, Table, Vector, tables, text, whole, write_flatbuffer

CODES = {dtype: int(code) for code, dtype in DTYPES.items()}
OTHERS = {
    "IF": BuiltinOptions.IfOptions,
    "CALL_ONCE": BuiltinOptions.CallOnceOptions,
    "VAR_HANDLE": BuiltinOptions.VarHandleOptions,
}
"""Options of operators that are no calls; their fields are in the order of their names."""

UNREAD = {"ARG_MAX": (40, "b"), "ARG_MIN": (57, "b"), "SPLIT": (35, "i"), "SPLIT_V": (79, "i")}
"""Types of options tables that only LiteRT reads, and of the one number in each."""

INTERMEDIATES = 8
"""The slot of an operator's intermediate tensors, which only LiteRT reads."""

RESOURCE = 13
"""The type of a handle."""

LETTERS = {"byte": "b", "int": "i", "bool": "B", "float": "f"}


@dataclass
class TfliteFile:
    """A file under construction: its main subgraph, or one that the main one calls.

    Attributes:
        others: subgraphs that are complete, from the second one on.
    """

    tensors: list[Table] = field(default_factory=list)
    buffers: list[Table] = field(default_factory=lambda: [Table()])
    codes: list[str] = field(default_factory=list)
    operators: list[Table] = field(default_factory=list)
    others: list[Table] = field(default_factory=list)

    def subgraph(self) -> TfliteFile:
        """Another subgraph of the same file."""
        return TfliteFile(buffers=self.buffers, codes=self.codes, others=self.others)

    def finish(self, inputs: Sequence[int], outputs: Sequence[int]) -> int:
        """Completes a subgraph that the main one calls; returns its number."""
        self.others.append(self._table(inputs, outputs))
        return len(self.others)

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

    def handle(self) -> int:
        """Adds a tensor that names a variable; returns its index."""
        return self.tensor((1,), np.int32, further={TensorTable.TYPE: whole("b", RESOURCE)})

    def constant(self, data: npt.NDArray[Any], **quantization: Any) -> int:
        """Adds a constant of an array's shape and type; returns its index."""
        return self.tensor(data.shape, data.dtype, data=data, **quantization)

    def operator(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        *,
        unread: int | None = None,
        between: Sequence[int] = (),
        **options: Any,
    ) -> None:
        """Adds an operator; one with an unknown name is a custom one.

        Args:
            unread: the number in its options table that only LiteRT reads.
            between: its intermediate tensors.
        """
        if name not in self.codes:
            self.codes.append(name)
        fields: dict[int, Scalar | Vector | Table] = {
            OperatorTable.OPCODE_INDEX: whole("I", self.codes.index(name)),
            OperatorTable.INPUTS: Vector("i", list(inputs)),
            OperatorTable.OUTPUTS: Vector("i", list(outputs)),
        }
        table = OTHERS.get(name)
        if table is not None:
            content = {slot: options[key] for slot, key in enumerate(sorted(options))}
            fields[OperatorTable.BUILTIN_OPTIONS_TYPE] = whole("B", table)
            fields[OperatorTable.BUILTIN_OPTIONS] = Table(
                {
                    slot: text(value) if isinstance(value, str) else whole("i", value)
                    for slot, value in content.items()
                }
            )
        if name in FORMS and FORMS[name].table:
            form = FORMS[name]
            known = {option.name: option for option in form.options}
            content = {known[key].slot: _option(known[key], options[key]) for key in options}
            fields[OperatorTable.BUILTIN_OPTIONS_TYPE] = whole("B", form.table)
            fields[OperatorTable.BUILTIN_OPTIONS] = Table(content)
        if unread is not None:
            code, letter = UNREAD[name]
            fields[OperatorTable.BUILTIN_OPTIONS_TYPE] = whole("B", code)
            fields[OperatorTable.BUILTIN_OPTIONS] = Table({0: whole(letter, unread)})
        if between:
            fields[INTERMEDIATES] = Vector("i", list(between))
        self.operators.append(Table(fields))

    def write(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The file with these inputs and outputs."""
        fields: dict[int, Scalar | Vector | Table] = {
            ModelTable.VERSION: whole("I", 3),
            ModelTable.OPERATOR_CODES: tables([_code(name) for name in self.codes]),
            ModelTable.SUBGRAPHS: tables([self._table(inputs, outputs), *self.others]),
            ModelTable.BUFFERS: tables(self.buffers),
        }
        return bytes(write_flatbuffer(FILE_IDENTIFIER, Table(fields)))

    def _table(self, inputs: Sequence[int], outputs: Sequence[int]) -> Table:
        return Table(
            {
                SubGraphTable.TENSORS: tables(self.tensors),
                SubGraphTable.INPUTS: Vector("i", list(inputs)),
                SubGraphTable.OUTPUTS: Vector("i", list(outputs)),
                SubGraphTable.OPERATORS: tables(self.operators),
            }
        )


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


def linear_file(activations: npt.DTypeLike, weights: npt.DTypeLike) -> bytes:
    """A fully connected layer of some types."""
    file = TfliteFile()
    scale = None if np.dtype(activations).kind == "f" else 0.5
    source = file.tensor((1, 4), activations, scale=scale)
    constant = file.constant(
        np.ones((3, 4), weights), scale=None if np.dtype(weights).kind == "f" else 0.1
    )
    out = file.tensor((1, 3), activations, scale=scale)
    file.operator("FULLY_CONNECTED", (source, constant), (out,))
    return file.write((source,), (out,))


def unknown_file() -> bytes:
    """Two operators that no kernel has."""
    file = TfliteFile()
    source, between, out = (file.tensor((1, 4), scale=0.5) for _ in range(3))
    file.operator("RFFT2D", (source,), (between,))
    file.operator("MyOwn", (between,), (out,))
    return file.write((source,), (out,))
