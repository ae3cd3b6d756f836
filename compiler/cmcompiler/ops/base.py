"""What an op is: parameters, a numpy reference, and the kernel calls that compute it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy.typing as npt

from cmcompiler.graph.graph import Tensor
from cmcompiler.isa import Isa

if TYPE_CHECKING:
    from cmcompiler.graph.call import Call


Array: TypeAlias = npt.NDArray[Any]

ALIGN = 16
"""The place of every tensor, in bytes, is a multiple of it."""


@dataclass(frozen=True, slots=True)
class Address:
    """A place in the memory of a tensor of the node.

    Attributes:
        offset: bytes from the tensor's first element.
    """

    tensor: Tensor
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Packed:
    """Constant bytes, laid out for the kernel; equal ones are stored once.

    Attributes:
        align: of the first byte, a power of two up to 16.
    """

    data: bytes
    align: int = 16


@dataclass(frozen=True, slots=True)
class Scratch:
    """Bytes that live during the one call; the plan gives them a place in the arena."""

    size: int


@dataclass(frozen=True, slots=True)
class Room:
    """Scratch that may be larger than it needs to be: whole units, one at least.

    It gets as many as fit beside what else lives during the call, but never makes the arena larger.
    A call has one at most.

    Attributes:
        unit: bytes, a multiple of ALIGN.
        most: units of which there is any use.
    """

    unit: int
    most: int


@dataclass(frozen=True, slots=True)
class Held:
    """How many of something the call's Room holds.

    Attributes:
        each: in a unit.
    """

    each: int


Word = int | float | Address | Packed | Scratch | Room | Held
"""One 32-bit field of a kernel's arguments: int32/uint32, float32, or a cm_ref."""


@dataclass(frozen=True, slots=True)
class KernelCall:
    """One call of a C function `void cm_<kernel>(context, arguments, y0, y1)`.

    Attributes:
        kernel: name without the prefix `cm_`; defined in runtime/kernels/.
        arguments: the fields of the kernel's argument struct, in its order and by its names.
        rows: output rows [y0, y1) to compute; (0, 0) for kernels that take whole tensors.
        microkernel: the inner loop it spends its time in, a key of isa.MICROKERNELS, or None.
    """

    kernel: str
    arguments: Sequence[tuple[str, Word]]
    rows: tuple[int, int] = (0, 0)
    microkernel: str | None = None


class Op(ABC):
    """All that the host knows of one op. Subclasses are frozen dataclasses of its parameters."""

    label: ClassVar[str]
    """Short name for people: `conv2d`, `add`. A subclass may refine it with a property `title`."""

    exact: ClassVar[bool] = True
    """Kernels equal the reference to the bit; False for transcendental float arithmetic."""

    @property
    def title(self) -> str:
        """As shown in tables: `conv2d 1×1`."""
        return self.label

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one execution."""
        return 0

    @property
    def in_place(self) -> frozenset[int]:
        """Inputs whose memory the first output may take over, element by element in order."""
        return frozenset()

    @property
    def view_of(self) -> int | None:
        """The input whose memory the output is, unmoved; such an op has no kernel call."""
        return None

    @property
    def view_offset(self) -> int:
        """Bytes from that input's first element to the output's: a multiple of ALIGN."""
        return 0

    @abstractmethod
    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        """Outputs for inputs, all in physical shapes: the one truth that every kernel equals."""

    @abstractmethod
    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        """The calls that compute the outputs on a core with `isa`."""


Reader = Callable[["Call"], None]


@dataclass(frozen=True, slots=True)
class Schema:
    """Name and parameters of a program's operator, from its declaration.

    Attributes:
        name: `cortex_m::pad.out`.
        parameters: (type, name) in order, keyword-only ones and outputs included.
        results: names of those that are only written.
        in_place: of one that is read and written, `self` of `aten::copy_`; None if there is none.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    results: tuple[str, ...] = ()
    in_place: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for _, name in self.parameters)

    @classmethod
    def parse(cls, declaration: str) -> Schema:
        """From `ns::op.overload(Tensor x, int[] pad, *, Tensor(a!) out) -> …`.

        Tensor types lose their alias marks, defaults are dropped.
        """
        name, _, rest = declaration.partition("(")
        depth, current, parts = 0, "", []
        for character in rest:
            if character == ")" and depth == 0:
                break
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
            if character == "," and depth == 0:
                parts.append(current)
                current = ""
            else:
                current += character
        parts.append(current)
        parameters, results, in_place, is_keyword = [], [], None, False
        for part in (p.strip() for p in parts):
            is_keyword |= part == "*"
            if part in ("", "*"):
                continue
            kind, _, argument = part.split("=")[0].strip().rpartition(" ")
            if argument == "out" or ("!" in kind and is_keyword):
                results.append(argument)
            elif "!" in kind:
                in_place = argument
            kind = kind.replace("(a!)", "").replace("(b!)", "").replace("(c!)", "")
            parameters.append((kind.strip(), argument))
        return cls(name.strip(), tuple(parameters), tuple(results), in_place)


@dataclass(frozen=True, slots=True)
class ProgramOp:
    """How one operator of a program is read into nodes."""

    schema: Schema
    read: Reader


_REGISTRY: dict[str, ProgramOp] = {}


def operators() -> dict[str, ProgramOp]:
    """All operators by full name, `cortex_m::pad.out`."""
    # Importing the package fills the registry. Where another thread is at it, this one waits: to
    # have imported the module at hand is no sign that the others are there.
    import_module("cmcompiler.ops")
    return _REGISTRY


def program_op(*declarations: str) -> Callable[[Reader], Reader]:
    """Registers a reader for operators, given as their declarations in operators.yaml's syntax."""

    def register(read: Reader) -> Reader:
        for declaration in declarations:
            schema = Schema.parse(declaration)
            if schema.name in _REGISTRY:
                raise ValueError(f"{schema.name} is registered twice")
            _REGISTRY[schema.name] = ProgramOp(schema, read)
        return read

    return register
