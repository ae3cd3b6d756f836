"""Subgraphs of a `.tflite` file and the calls in them, while they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cmcompiler.errors import InvalidProgram
from cmcompiler.pte.flatbuffer import TableReader
from cmcompiler.tflite import schema
from cmcompiler.tflite.schema import BuiltinOptions, SubGraphTable


@dataclass
class Frame:
    """One subgraph, while it is read.

    Attributes:
        values: the value of each tensor that something has read or written.
        resources: the variable that each handle names.
    """

    table: TableReader
    tensors: list[TableReader]
    values: dict[int, int] = field(default_factory=dict)
    resources: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, table: TableReader) -> Frame:
        return cls(table, list(table.tables(SubGraphTable.TENSORS)))

    def indices(self, slot: int, label: str) -> tuple[int, ...]:
        """Tensors that a field lists."""
        return self.checked(self.table.int32s(slot), label)

    def checked(self, indices: Sequence[int], label: str) -> tuple[int, ...]:
        for index in indices:
            if not 0 <= index < len(self.tensors):
                raise InvalidProgram(
                    f"{label} of the program is tensor {index} of {len(self.tensors)}"
                )
        return tuple(indices)


@dataclass(frozen=True, slots=True)
class Operator:
    """One call, with the tensors of its frame."""

    label: str
    table: TableReader
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    def options(self, kind: BuiltinOptions) -> TableReader | None:
        """Its options table; None if it is absent, or not of a kind at all.

        Raises:
            InvalidProgram: it is of another kind.
        """
        if kind == BuiltinOptions.NONE:
            return None
        options = self.table.table(schema.OperatorTable.BUILTIN_OPTIONS)
        code = self.table.uint8(schema.OperatorTable.BUILTIN_OPTIONS_TYPE)
        if options is not None and code != kind:
            raise InvalidProgram(f"{self.label} has options of type {code}, not {kind}")
        return options

    def only(self, tensors: tuple[int, ...]) -> int:
        """The one input or output that it has."""
        if len(tensors) != 1 or tensors[0] == -1:
            raise InvalidProgram(f"{self.label} has {len(tensors)} results, not 1")
        return tensors[0]

    @property
    def resource(self) -> str:
        """The variable that it makes a handle of."""
        options = self.options(BuiltinOptions.VarHandleOptions)
        if options is None:
            return "/"
        return f"{options.string(0)}/{options.string(1)}"
