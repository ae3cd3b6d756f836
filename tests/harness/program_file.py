"""Writes typed programs as `.pte` files, the inverse of the reader."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cmcompiler.pte.program import (
    Instruction,
    JumpFalseInstruction,
    KernelInstruction,
    Method,
    MoveInstruction,
    Program,
    TensorList,
    TensorValue,
    Value,
)
from cmcompiler.pte.schema import (
    DTYPES,
    EXTENDED_HEADER_LENGTH,
    EXTENDED_HEADER_MAGIC,
    FILE_IDENTIFIER,
    KernelTypes,
)
from cmcompiler.pte.schema import ProgramTable as ProgramFields

CODES = {dtype: int(code) for code, dtype in DTYPES.items()}


@dataclass(frozen=True)
class Scalar:
    form: str
    value: int | float


@dataclass(frozen=True)
class Vector:
    """Numbers of a struct format, or tables."""

    form: str
    items: Sequence[int | float | Table] | bytes


@dataclass(frozen=True)
class Table:
    """Fields by slot."""

    fields: Mapping[int, Scalar | Vector | Table] = field(default_factory=dict)


def text(string: str) -> Vector:
    return Vector("B", string.encode())


def whole(form: str, value: float) -> Scalar:
    return Scalar(form, value)


def tables(items: Sequence[Table]) -> Vector:
    return Vector("", items)


def write_program(program: Program) -> bytes:
    """The file of a program without refused methods."""
    constants, initial = [b""], [b""]
    plans = [
        _plan(method, constants, initial)
        for method in program.methods
        if isinstance(method, Method)
    ]
    segment = b"".join(initial)
    starts = [sum(map(len, initial[:i])) for i in range(len(initial))]
    fields: dict[int, Scalar | Vector | Table] = {
        ProgramFields.VERSION: whole("I", program.version),
        ProgramFields.EXECUTION_PLAN: tables(plans),
        ProgramFields.CONSTANT_BUFFER: tables([Table({0: Vector("B", c)}) for c in constants]),
        ProgramFields.SEGMENTS: tables([Table({0: whole("Q", 0), 1: whole("Q", len(segment))})]),
        ProgramFields.MUTABLE_DATA_SEGMENTS: tables(
            [Table({0: whole("I", 0), 1: Vector("Q", starts)})]
        ),
    }
    file = write_flatbuffer(FILE_IDENTIFIER, Table(fields), EXTENDED_HEADER_LENGTH)
    file += bytes(-len(file) % 16)
    header = (EXTENDED_HEADER_LENGTH, len(file), len(file), len(segment))
    struct.pack_into("<4sIQQQ", file, 8, EXTENDED_HEADER_MAGIC, *header)
    return bytes(file + segment)


def write_flatbuffer(identifier: bytes, root: Table, header: int = 0) -> bytearray:
    """A file with room for a header behind its identifier."""
    file = bytearray(8 + header)
    file[4:8] = identifier
    struct.pack_into("<I", file, 0, _write(file, root))
    return file


def _write(file: bytearray, node: Vector | Table) -> int:
    """Appends a node and what it refers to; returns its position."""
    file += bytes(-len(file) % 8)
    if isinstance(node, Vector):
        file += bytes(4)  # items are aligned to 8, with the length before them
        start = len(file)
        file += struct.pack("<I", len(node.items))
        if isinstance(node.items, bytes):
            file += node.items
            return start
        if node.form:
            file += struct.pack(f"<{len(node.items)}{node.form}", *node.items)
            return start
        first = len(file)
        file += bytes(4 * len(node.items))
        for index, item in enumerate(node.items):
            assert isinstance(item, Table)
            _refer(file, first + 4 * index, item)
        return start
    slots = sorted(node.fields)
    offsets = [0] * (slots[-1] + 1 if slots else 0)
    vtable, later = len(file), []
    start = vtable + 4 + 2 * len(offsets)
    start += -start % 8
    content = bytearray(8 + 8 * len(slots))
    struct.pack_into("<i", content, 0, start - vtable)
    for index, slot in enumerate(slots):
        place, value = 8 + 8 * index, node.fields[slot]
        offsets[slot] = place
        if isinstance(value, Scalar):
            struct.pack_into(f"<{value.form}", content, place, value.value)
        else:
            later.append((start + place, value))
    file += struct.pack(f"<{2 + len(offsets)}H", 4 + 2 * len(offsets), len(content), *offsets)
    file += bytes(start - len(file))
    file += content
    for place, node_after in later:
        _refer(file, place, node_after)
    return start


def _refer(file: bytearray, place: int, node: Vector | Table) -> None:
    struct.pack_into("<I", file, place, _write(file, node) - place)


def _plan(method: Method, constants: list[bytes], initial: list[bytes]) -> Table:
    entries: list[Table] = []
    later: list[Table] = []
    for value in method.values:
        entries.append(_value(value, len(method.values) + len(later), later, constants, initial))
    names = sorted({x.operator for x in method.instructions if isinstance(x, KernelInstruction)})
    chain = Table({2: tables([_instruction(x, names) for x in method.instructions])})
    operators = [
        Table({0: text(name.partition(".")[0]), 1: text(name.partition(".")[2])}) for name in names
    ]
    return Table(
        {
            0: text(method.name),
            2: tables([*entries, *later]),
            3: Vector("i", method.inputs),
            4: Vector("i", method.outputs),
            5: tables([chain]),
            6: tables(operators),
            8: Vector("q", method.buffer_sizes),
        }
    )


def _value(  # noqa: PLR0911 - a case for each kind
    value: Value, next_index: int, later: list[Table], constants: list[bytes], initial: list[bytes]
) -> Table:
    """A value's entry; the integers of a list become entries of their own, after all others."""

    def entry(kind: KernelTypes, content: Scalar | Vector) -> Table:
        return Table({0: whole("B", kind), 1: Table({0: content})})

    match value:
        case None:
            return Table({0: whole("B", KernelTypes.Null)})
        case TensorValue():
            return Table({0: whole("B", KernelTypes.Tensor), 1: _tensor(value, constants, initial)})
        case TensorList(items):
            if None not in items:
                return entry(
                    KernelTypes.TensorList, Vector("i", [i for i in items if i is not None])
                )
            indices = [-1 if item is None else item for item in items]
            return entry(KernelTypes.OptionalTensorList, Vector("i", indices))
        case bool():
            return entry(KernelTypes.Bool, whole("B", value))
        case int():
            return entry(KernelTypes.Int, whole("q", value))
        case float():
            return entry(KernelTypes.Double, whole("d", value))
        case str():
            return entry(KernelTypes.String, text(value))
        case tuple() if value and all(type(item) is bool for item in value):
            return entry(KernelTypes.BoolList, Vector("B", bytes(map(bool, value))))
        case tuple() if value and all(type(item) is float for item in value):
            return entry(KernelTypes.DoubleList, Vector("d", value))
    later += [entry(KernelTypes.Int, whole("q", item)) for item in value]
    return entry(KernelTypes.IntList, Vector("q", range(next_index, next_index + len(value))))


def _tensor(value: TensorValue, constants: list[bytes], initial: list[bytes]) -> Table:
    fields: dict[int, Scalar | Vector | Table] = {
        0: whole("b", CODES[value.dtype]),
        2: Vector("i", value.sizes),
        3: Vector("B", bytes(value.dim_order)),
    }
    if value.data is not None:
        pieces = constants if value.is_constant else initial
        fields[5] = whole("I", len(pieces))
        pieces.append(bytes(value.data))
    if value.allocation is not None:
        offset = value.allocation.offset
        parts = (value.allocation.memory, offset & 0xFFFFFFFF, offset >> 32)
        fields[6] = Table({slot: whole("I", part) for slot, part in enumerate(parts)})
    return Table(fields)


def _instruction(instruction: Instruction, operators: Sequence[str]) -> Table:
    match instruction:
        case KernelInstruction(operator, arguments):
            content = {0: whole("i", operators.index(operator)), 1: Vector("i", arguments)}
            return Table({0: whole("B", 1), 1: Table(content)})
        case MoveInstruction(source, target):
            return Table(
                {0: whole("B", 3), 1: Table({0: whole("i", source), 1: whole("i", target)})}
            )
        case JumpFalseInstruction(condition, destination):
            ends = {0: whole("i", condition), 1: whole("i", destination)}
            return Table({0: whole("B", 4), 1: Table(ends)})
