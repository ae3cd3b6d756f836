"""An instruction as the models of cores see it: what it reads, writes and occupies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Kind(Enum):
    """Classes of instructions that cores treat alike."""

    ALU = auto()
    COMPARE = auto()
    MULTIPLY = auto()
    ACCUMULATE = auto()
    """Multiply and add to a register."""
    DIVIDE = auto()
    PACKED = auto()
    """Saturating and parallel arithmetic of the DSP extension."""
    EXTEND_ADD = auto()
    LOAD = auto()
    STORE = auto()
    LOAD_PAIR = auto()
    STORE_PAIR = auto()
    LOAD_MULTIPLE = auto()
    STORE_MULTIPLE = auto()
    LOAD_PC = auto()
    POP_PC = auto()
    BRANCH = auto()
    CALL = auto()
    BRANCH_REGISTER = auto()
    TABLE_BRANCH = auto()
    IT = auto()
    NOP = auto()
    PREFETCH = auto()
    """A hint that occupies a load's slot and makes no result."""
    LOOP_START = auto()
    LOOP_END = auto()
    VECTOR = auto()
    """Floating point and MVE; `Vector` says more."""
    SYSTEM = auto()


MEMORY = (Kind.LOAD, Kind.STORE)


class Pipe(Enum):
    """The unit that executes an instruction of the vector extension."""

    MEMORY = auto()
    MULTIPLY = auto()
    INTEGER = auto()
    PREDICATE = auto()


@dataclass(frozen=True, slots=True)
class Vector:
    """Properties of a floating-point or MVE instruction.

    Attributes:
        operation: mnemonic without data types: `vmlava`, `vldrb`.
        pipe: on a core with MVE.
        beats: cycles that it occupies the pipe there.
        latency: cycles there until its result can be used.
        is_multiple: loads or stores several registers.
    """

    operation: str
    pipe: Pipe
    beats: int
    latency: int
    is_multiple: bool = False


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of an image.

    Attributes:
        text: as disassembled.
        operation: mnemonic without width: `ldrb`.
        size: bytes.
        reads: registers with data; addresses and the addend of a multiply-accumulate not included.
        address_registers: registers that form an address, the base first.
        addends: registers that a multiply-accumulate adds to.
        writes: registers.
        count: registers that a multiple transfer moves.
        writes_back: updates its base register.
        has_register_offset: adds two registers for an address.
        is_shifted: shifts an operand on its way.
        sets_flags: is a comparison, or ends in S.
    """

    address: int
    size: int
    text: str
    operation: str
    kind: Kind
    reads: tuple[str, ...] = ()
    address_registers: tuple[str, ...] = ()
    addends: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    count: int = 1
    writes_back: bool = False
    has_register_offset: bool = False
    is_shifted: bool = False
    sets_flags: bool = False
    vector: Vector | None = None

    @property
    def is_wide(self) -> bool:
        return self.size == 4

    @property
    def end(self) -> int:
        return self.address + self.size

    @property
    def base(self) -> tuple[str, ...]:
        """The base register if the instruction updates it."""
        return self.address_registers[:1] if self.writes_back else ()
