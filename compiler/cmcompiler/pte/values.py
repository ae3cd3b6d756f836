"""The values of a method: tensors, numbers, strings, and lists of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from cmcompiler.errors import InvalidProgram, Unsupported
from cmcompiler.pte import schema
from cmcompiler.pte.container import Constants
from cmcompiler.pte.flatbuffer import TableReader
from cmcompiler.pte.program import Allocation, TensorList, TensorValue, Value
from cmcompiler.pte.schema import DTYPES, EValueTable, KernelTypes, TensorShapeDynamism

MOST_DIMENSIONS = 16
"""ExecuTorch's own limit on the rank of a tensor."""

MOST_ELEMENTS = 1 << 25
"""Limit of a tensor: the reference takes up to 32 bytes for each, and 2 GiB at most."""


class UnsupportedTensor(Unsupported):
    """
    Attributes:
        number: of the tensor among the method's values.
    """

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number


@dataclass(frozen=True, slots=True)
class _IntegerList:
    """Integers, as indices of values, which may come later in the table."""

    items: tuple[int, ...]


_READERS: dict[int, Callable[[TableReader], Value | _IntegerList]] = {
    KernelTypes.Int: lambda table: table.int64(schema.IntTable.INT_VAL),
    KernelTypes.Bool: lambda table: table.boolean(schema.BoolTable.BOOL_VAL),
    KernelTypes.Double: lambda table: table.double(schema.DoubleTable.DOUBLE_VAL),
    KernelTypes.String: lambda table: table.string(schema.StringTable.STRING_VAL),
    KernelTypes.IntList: lambda table: _IntegerList(table.int64s(schema.IntListTable.ITEMS)),
    KernelTypes.DoubleList: lambda table: table.doubles(schema.DoubleListTable.ITEMS),
    KernelTypes.BoolList: lambda table: tuple(map(bool, table.bytes(schema.BoolListTable.ITEMS))),
    KernelTypes.TensorList: lambda table: TensorList(table.int32s(schema.TensorListTable.ITEMS)),
    KernelTypes.OptionalTensorList: lambda table: TensorList(
        tuple(
            None if item == -1 else item
            for item in table.int32s(schema.OptionalTensorListTable.ITEMS)
        )
    ),
}


def read_values(
    tables: Sequence[TableReader], buffer_sizes: Sequence[int], constants: Constants
) -> tuple[Value, ...]:
    """Typed values from their EValue tables.

    Args:
        buffer_sizes: of the method; allocations must lie within them.

    Raises:
        InvalidProgram: names the malformed value.
        Unsupported: names the value and the reason: external, sparse, of an unknown type, …
    """
    values: list[Value | _IntegerList] = []
    for number, table in enumerate(tables):
        kind = table.uint8(EValueTable.VAL_TYPE)
        content = table.table(EValueTable.VAL)
        if kind == KernelTypes.Null:
            values.append(None)
        elif content is None:
            raise InvalidProgram(f"value {number} of the program is empty")
        elif kind == KernelTypes.Tensor:
            values.append(_tensor(number, content, buffer_sizes, constants))
        elif kind in _READERS:
            values.append(_READERS[kind](content))
        else:
            raise InvalidProgram(f"value {number} of the program has the unknown type {kind}")
    return tuple(_resolved(number, value, values) for number, value in enumerate(values))


def dynamic_tensors(tables: Sequence[TableReader]) -> tuple[int, ...]:
    """Indices of the EValue tables of tensors whose shape is not static."""
    return tuple(number for number, table in enumerate(tables) if _is_dynamic(table))


def _is_dynamic(value: TableReader) -> bool:
    tensor = (
        value.table(EValueTable.VAL)
        if value.uint8(EValueTable.VAL_TYPE) == KernelTypes.Tensor
        else None
    )
    static = TensorShapeDynamism.STATIC
    return tensor is not None and tensor.int8(schema.TensorTable.SHAPE_DYNAMISM) != static


def _resolved(
    number: int, value: Value | _IntegerList, values: Sequence[Value | _IntegerList]
) -> Value:
    """A value whose list members exist and have the right type."""
    if isinstance(value, _IntegerList):
        items = [values[index] if 0 <= index < len(values) else None for index in value.items]
        integers = tuple(item for item in items if type(item) is int)
        if len(integers) != len(items):
            raise InvalidProgram(f"value {number} of the program is not a list of integers")
        return integers
    if isinstance(value, TensorList):
        members: list[int | None] = []
        for index in value.items:
            member = values[index] if index is not None and 0 <= index < len(values) else None
            if index is not None and index >= len(values):
                raise InvalidProgram(f"value {number} of the program lists value {index}")
            if member is not None and not isinstance(member, TensorValue):
                raise InvalidProgram(f"value {number} of the program is not a list of tensors")
            members.append(None if member is None else index)
        return TensorList(tuple(members))
    return value


def _tensor(
    number: int, table: TableReader, buffer_sizes: Sequence[int], constants: Constants
) -> TensorValue:
    _refuse_special(number, table)
    sizes = table.int32s(schema.TensorTable.SIZES)
    dim_order = tuple(table.bytes(schema.TensorTable.DIM_ORDER))
    if len(sizes) > MOST_DIMENSIONS or min(sizes, default=0) < 0:
        raise InvalidProgram(f"tensor {number} of the program has a malformed shape")
    if sorted(dim_order) != list(range(len(sizes))):
        raise InvalidProgram(f"tensor {number} of the program has a malformed dim order")
    code = table.int8(schema.TensorTable.SCALAR_TYPE)
    if code not in DTYPES:
        known = {item.value: item.name for item in schema.ScalarType}
        name = known.get(code, "unknown")
        raise UnsupportedTensor(number, f"tensor {number} has scalar type {name} ({code})")
    dtype = DTYPES[code]
    # NumPy ignores zeros when it checks a shape's size.
    if prod(max(size, 1) for size in sizes) > MOST_ELEMENTS:
        raise Unsupported(
            f"tensor {number} has more than {MOST_ELEMENTS:,} elements: {list(sizes)}"
        )
    value = TensorValue(dtype, sizes, dim_order)
    constant = table.uint32(schema.TensorTable.DATA_BUFFER_IDX)
    place = table.table(schema.TensorTable.ALLOCATION_INFO)
    if place is not None:
        allocation = _allocation(number, place, value.nbytes, buffer_sizes)
        data = constants.read_initial(constant, value.nbytes) if constant else None
        return TensorValue(dtype, sizes, dim_order, data, allocation)
    if constant:
        return TensorValue(dtype, sizes, dim_order, constants.read(constant, value.nbytes))
    return value


def _refuse_special(number: int, table: TableReader) -> None:
    if table.int32(schema.TensorTable.STORAGE_OFFSET) != 0:
        raise Unsupported(f"tensor {number} has a storage offset")
    if table.int8(schema.TensorTable.LAYOUT) != 0:
        raise Unsupported(f"tensor {number} is sparse")
    extra = table.table(schema.TensorTable.EXTRA_TENSOR_INFO)
    if extra is None:
        return
    if extra.int8(schema.ExtraTensorInfoTable.LOCATION) == schema.TensorDataLocation.EXTERNAL:
        raise Unsupported(
            f"external tensors are not supported: tensor {number} is stored outside the program",
            "export with the constants in the .pte",
        )
    if extra.int8(schema.ExtraTensorInfoTable.DEVICE_TYPE) != 0:
        raise Unsupported(f"tensor {number} is on another device")


def _allocation(
    number: int, table: TableReader, nbytes: int, buffer_sizes: Sequence[int]
) -> Allocation:
    memory = table.uint32(schema.AllocationDetailsTable.MEMORY_ID)
    low = table.uint32(schema.AllocationDetailsTable.MEMORY_OFFSET_LOW)
    high = table.uint32(schema.AllocationDetailsTable.MEMORY_OFFSET_HIGH)
    offset = low | high << 32
    # Buffer 0 is reserved for constants.
    if not 0 < memory < len(buffer_sizes) or offset + nbytes > buffer_sizes[memory]:
        raise InvalidProgram(
            f"tensor {number} of the program has {nbytes:,} bytes at {offset:,} of buffer "
            f"{memory}, outside of planned memory"
        )
    return Allocation(memory, offset)
