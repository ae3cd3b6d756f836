"""Field numbers and codes of ExecuTorch's program.fbs and scalar_type.fbs (executorch 1.5.1).

One class per table, named as in the schema plus `Table`; each member is a field with its vtable
slot as the value. A union takes two slots: its type's code, then its value.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

FILE_IDENTIFIER = b"ET12"
BUNDLED_IDENTIFIER = b"BP08"
EXTENDED_HEADER_MAGIC = b"eh00"
# Magic, own length, program size, segment base offset; from 32 bytes on also segment data size.
EXTENDED_HEADER_MINIMUM_LENGTH = 24
EXTENDED_HEADER_LENGTH = 32


class ProgramTable(IntEnum):
    VERSION = 0
    EXECUTION_PLAN = 1
    CONSTANT_BUFFER = 2
    BACKEND_DELEGATE_DATA = 3
    SEGMENTS = 4
    CONSTANT_SEGMENT = 5
    MUTABLE_DATA_SEGMENTS = 6
    NAMED_DATA = 7


class ExecutionPlanTable(IntEnum):
    NAME = 0
    VALUES = 2
    INPUTS = 3
    OUTPUTS = 4
    CHAINS = 5
    OPERATORS = 6
    DELEGATES = 7
    NON_CONST_BUFFER_SIZES = 8


BufferTable = IntEnum("BufferTable", "STORAGE", start=0)
DataSegmentTable = IntEnum("DataSegmentTable", "OFFSET SIZE", start=0)
SubsegmentOffsetsTable = IntEnum("SubsegmentOffsetsTable", "SEGMENT_INDEX OFFSETS", start=0)


class ChainTable(IntEnum):
    INSTRUCTIONS = 2


OperatorTable = IntEnum("OperatorTable", "NAME OVERLOAD", start=0)
InstructionTable = IntEnum("InstructionTable", "INSTR_ARGS_TYPE INSTR_ARGS", start=0)


class InstructionArguments(IntEnum):
    KernelCall = 1
    DelegateCall = 2
    MoveCall = 3
    JumpFalseCall = 4
    FreeCall = 5


KernelCallTable = IntEnum("KernelCallTable", "OP_INDEX ARGS", start=0)
MoveCallTable = IntEnum("MoveCallTable", "MOVE_FROM MOVE_TO", start=0)


class JumpFalseCallTable(IntEnum):
    COND_VALUE_INDEX = 0
    DESTINATION_INSTRUCTION = 1


EValueTable = IntEnum("EValueTable", "VAL_TYPE VAL", start=0)


class KernelTypes(IntEnum):
    Null = 1
    Int = 2
    Bool = 3
    Double = 4
    Tensor = 5
    String = 6
    IntList = 7
    DoubleList = 8
    BoolList = 9
    TensorList = 10
    OptionalTensorList = 11


IntTable = IntEnum("IntTable", "INT_VAL", start=0)
BoolTable = IntEnum("BoolTable", "BOOL_VAL", start=0)
DoubleTable = IntEnum("DoubleTable", "DOUBLE_VAL", start=0)
StringTable = IntEnum("StringTable", "STRING_VAL", start=0)
IntListTable = IntEnum("IntListTable", "ITEMS", start=0)
DoubleListTable = IntEnum("DoubleListTable", "ITEMS", start=0)
BoolListTable = IntEnum("BoolListTable", "ITEMS", start=0)
TensorListTable = IntEnum("TensorListTable", "ITEMS", start=0)
OptionalTensorListTable = IntEnum("OptionalTensorListTable", "ITEMS", start=0)


class TensorTable(IntEnum):
    SCALAR_TYPE = 0
    STORAGE_OFFSET = 1
    SIZES = 2
    DIM_ORDER = 3
    DATA_BUFFER_IDX = 5
    ALLOCATION_INFO = 6
    LAYOUT = 7
    SHAPE_DYNAMISM = 8
    EXTRA_TENSOR_INFO = 9


class AllocationDetailsTable(IntEnum):
    MEMORY_ID = 0
    MEMORY_OFFSET_LOW = 1
    MEMORY_OFFSET_HIGH = 2


BackendDelegateTable = IntEnum("BackendDelegateTable", "ID", start=0)


class ExtraTensorInfoTable(IntEnum):
    LOCATION = 2
    DEVICE_TYPE = 3


class TensorShapeDynamism(IntEnum):
    STATIC = 0
    DYNAMIC_BOUND = 1
    DYNAMIC_UNBOUND = 2


class TensorDataLocation(IntEnum):
    SEGMENT = 0
    EXTERNAL = 1


class ScalarType(IntEnum):
    BYTE = 0
    CHAR = 1
    SHORT = 2
    INT = 3
    LONG = 4
    HALF = 5
    FLOAT = 6
    DOUBLE = 7
    BOOL = 11
    QINT8 = 12
    QUINT8 = 13
    QINT32 = 14
    BFLOAT16 = 15
    QUINT4X2 = 16
    QUINT2X4 = 17
    BITS16 = 22
    FLOAT8E5M2 = 23
    FLOAT8E4M3FN = 24
    FLOAT8E5M2FNUZ = 25
    FLOAT8E4M3FNUZ = 26
    UINT16 = 27
    UINT32 = 28
    UINT64 = 29


DTYPES: dict[int, np.dtype[Any]] = {
    ScalarType.BYTE: np.dtype(np.uint8),
    ScalarType.CHAR: np.dtype(np.int8),
    ScalarType.SHORT: np.dtype(np.int16),
    ScalarType.INT: np.dtype(np.int32),
    ScalarType.LONG: np.dtype(np.int64),
    ScalarType.HALF: np.dtype(np.float16),
    ScalarType.FLOAT: np.dtype(np.float32),
    ScalarType.DOUBLE: np.dtype(np.float64),
    ScalarType.BOOL: np.dtype(np.bool_),
    ScalarType.UINT16: np.dtype(np.uint16),
    ScalarType.UINT32: np.dtype(np.uint32),
    ScalarType.UINT64: np.dtype(np.uint64),
}
"""The scalar types that NumPy supports; others are refused."""
