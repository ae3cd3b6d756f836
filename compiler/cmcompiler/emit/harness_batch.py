"""Batches of planned programs for the kernel harness, the image that contains every kernel.

The harness (runtime/kernel_harness/) runs many small programs without relinking: it reads one batch
file, runs each case and writes one results file: `batch` and `results` in its folder.

All fields of both files are little-endian uint32 unless stated otherwise; offsets count bytes from
the start of the file. Every block begins at a multiple of 16, so a batch loaded to a 16-byte
aligned address is used in place: argument words, constants and input data are never copied, except
inputs into the arena. Constants have their 64 bytes of slack in the file.

Batch file::

    header (32 bytes)  magic "CMHB", version 3, file_bytes, kernel_count, kernels, case_count,
                       cases, arena_bytes
    kernels            kernel_count records of char[48], NUL-padded: names without the prefix cm_
    cases              case_count records of 16 words: constants, constant_bytes, arena_bytes,
                       steps, step_count, states, state_count, inputs, input_count, outputs,
                       output_count, checks, check_count, continues, fences, fence_count
    steps              records of 4 words: kernel (index, or 0xffffffff for a branch, stream,
                       feed, drain or run), arguments (offset), y0, y1
    states             records of 3 words: ref, initial (ref, or 0xffffffff for zeros), bytes
    inputs             records of 4 words: ref (cm_ref, or 0xffffffff if its rows are fed), bytes,
                       data (offset), 0
    outputs            records of 4 words: ref (or 0xffffffff if its rows are drained), bytes, data
                       (offset) and which output of the plan, for drained rows
    checks             records of 4 words: step (index), ref, bytes, 0; ordered by step
    fences             records of 12 words: step (index), ref, row_bytes, ring, height, and the
                       reach: factor, low, high, divisor (see cmcompiler.plan.plan.Fence); the
                       first step of its scope and the one after the last; 0

`kernels`, `cases`, `constants`, `steps`, `states`, `inputs`, `outputs`, `checks`, `fences`,
`arguments` and `data` are offsets; `arena_bytes` of the header is the largest of all cases, slack
included.

For each case, the loader takes the 16-byte aligned memory after the batch as the arena, fills its
arena_bytes with 0xA5 and resets the states (unless the case continues the previous one, of the same
plan), copies the inputs in and runs the steps in order. After step i, even a skipped one, it
records the CRC-32 (zlib's) of each check with that step. A host build with sanitizers lets a stage
touch only the rows within its fences, of all rows within those of its stream. A batch that does not
fit, or that names a kernel that is not linked, is refused with a message and a non-zero exit before
any case runs.

Results file::

    header (16 bytes)  magic "CMHR", version 3, case_count, 0
    per case           uint64 ticks per step, 0 for a skipped one; CRC-32 per check; bytes of each
                       output, in order, without padding
    end                magic "CMHE"

The results of a case are written before the next one starts, so a fault can be traced to its case.
Ticks are the host clock's, as in the runner.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.op import OUTSIDE, TILES
from cmcompiler.ir.tensor import Tensor
from cmcompiler.plan.abi import BRANCH, STREAM
from cmcompiler.plan.plan import Plan, Span

Array = npt.NDArray[Any]

ALIGN = 16
VERSION = 3
KERNEL_NAME_BYTES = 48

NO_KERNEL = NO_REF = 0xFFFFFFFF

_BATCH_MAGIC = int.from_bytes(b"CMHB", "little")
_RESULTS_MAGIC = int.from_bytes(b"CMHR", "little")
_END_MAGIC = b"CMHE"


class IncompleteResults(Exception):
    """The results file ends early: the image stopped in case `case`."""

    def __init__(self, case: int) -> None:
        super().__init__(f"the kernel harness stopped in case {case}")
        self.case = case


@dataclass(frozen=True, slots=True)
class DrainedOutput:
    """An output of a plan whose rows the harness gathers outside the arena.

    Attributes:
        index: of the plan's outputs.
        size: bytes.
    """

    index: int
    size: int


@dataclass(frozen=True, slots=True)
class Case:
    """One execution of a plan.

    Attributes:
        inputs: raw bytes per input port.
        outputs: what to read back after the last step.
        checks: (step, span) pairs ordered by step: what to checksum after that step.
        continues: keeps the states of the previous case, of the same plan.
    """

    plan: Plan
    inputs: tuple[bytes, ...]
    outputs: tuple[Span | DrainedOutput, ...]
    checks: tuple[tuple[int, Span], ...] = ()
    continues: bool = False

    @classmethod
    def of(cls, plan: Plan, inputs: Sequence[Array]) -> Case:
        """A plan on one sample, with the plan's outputs.

        Args:
            inputs: one per port, in logical shapes.
        """
        data = tuple(
            port.to_physical(array).tobytes()
            for port, array in zip(plan.inputs, inputs, strict=True)
        )
        ports = tuple(
            DrainedOutput(index, p.tensor.nbytes)
            if p.fed
            else Span(plan.places[p.tensor], p.tensor.nbytes)
            for index, p in enumerate(plan.outputs)
        )
        return cls(plan, data, ports)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """Results of a case.

    Attributes:
        outputs: bytes per span of Case.outputs.
        ticks: per step.
        checksums: CRC-32 per element of Case.checks.
    """

    outputs: tuple[bytes, ...]
    ticks: tuple[int, ...]
    checksums: tuple[int, ...]


def to_array(data: bytes, tensor: Tensor) -> Array:
    """The contents of a tensor's memory, in its physical shape."""
    return np.frombuffer(data, tensor.dtype).reshape(tensor.shape)


class _File:
    """Blocks at multiples of 16; equal blocks are stored once."""

    def __init__(self, reserved: int) -> None:
        self.data = bytearray(reserved)
        self.blocks: dict[bytes, int] = {}

    def add(self, block: bytes) -> int:
        if block not in self.blocks:
            self.blocks[block] = self.reserve(0)
            self.data += block
        return self.blocks[block]

    def reserve(self, size: int) -> int:
        """A block of its own, of zeros."""
        self.data += bytes(-len(self.data) % ALIGN)
        start = len(self.data)
        self.data += bytes(size)
        return start


def pack_cases(cases: Sequence[Case]) -> bytes:
    """The batch file of `cases`."""
    steps = [step for case in cases for step in case.plan.steps if step.is_call]
    names = sorted({step.kernel for step in steps})
    kernels = dict.fromkeys((BRANCH, STREAM, TILES, *OUTSIDE), NO_KERNEL) | {
        name: index for index, name in enumerate(names)
    }
    file = _File(reserved=32)
    kernel_block = file.add(b"".join(_kernel_name(name) for name in names))
    case_block = file.add(b"".join(_pack_case(case, file, kernels) for case in cases))
    file.data += bytes(-len(file.data) % ALIGN)
    arena_bytes = max((case.plan.arena_bytes for case in cases), default=0)
    struct.pack_into(
        "<8I",
        file.data,
        0,
        *(_BATCH_MAGIC, VERSION, len(file.data), len(names), kernel_block),
        *(len(cases), case_block, arena_bytes),
    )
    return bytes(file.data)


def unpack_results(data: bytes, cases: Sequence[Case]) -> list[CaseResult]:
    """The results of `cases` from a results file.

    Raises:
        IncompleteResults: the file ends before all cases do.
        ValueError: not a results file of these cases.
    """
    header = struct.pack("<4I", _RESULTS_MAGIC, VERSION, len(cases), 0)
    if len(data) < len(header):
        raise IncompleteResults(0)
    if data[: len(header)] != header:
        raise ValueError("results of another batch")
    results, position = [], len(header)
    for index, case in enumerate(cases):
        form = f"<{len(case.plan.steps)}Q{len(case.checks)}I"
        sizes = [span.size for span in case.outputs]
        end = position + struct.calcsize(form) + sum(sizes)
        if end > len(data):
            raise IncompleteResults(index)
        numbers = struct.unpack_from(form, data, position)
        position += struct.calcsize(form)
        outputs = []
        for size in sizes:
            outputs.append(data[position : position + size])
            position += size
        steps = len(case.plan.steps)
        results.append(CaseResult(tuple(outputs), numbers[:steps], numbers[steps:]))
    if data[position:] != _END_MAGIC:
        raise IncompleteResults(len(cases))
    return results


def _kernel_name(name: str) -> bytes:
    encoded = name.encode("ascii")
    if len(encoded) >= KERNEL_NAME_BYTES:
        raise ValueError(f"kernel name {name} is longer than {KERNEL_NAME_BYTES - 1} characters")
    return encoded.ljust(KERNEL_NAME_BYTES, b"\0")


def _pack_case(case: Case, file: _File, kernels: dict[str, int]) -> bytes:
    plan = case.plan
    steps = b"".join(
        struct.pack(
            "<IIii",
            kernels[step.kernel],
            file.add(b"".join(struct.pack("<I", a.word) for a in step.words)),
            *step.rows,
        )
        for step in plan.steps
    )
    inputs = b"".join(
        struct.pack(
            "<4I",
            NO_REF if port.fed else plan.places[port.tensor].word,
            len(data),
            file.add(data),
            0,
        )
        for port, data in zip(plan.inputs, case.inputs, strict=True)
    )
    states = b"".join(
        struct.pack(
            "<3I",
            buffer.span.ref.word,
            NO_REF if buffer.initial is None else buffer.initial.word,
            buffer.span.size,
        )
        for buffer in plan.states
    )
    outputs = b"".join(
        struct.pack("<4I", span.ref.word, span.size, 0, 0)
        if isinstance(span, Span)
        else struct.pack("<4I", NO_REF, span.size, file.reserve(span.size), span.index)
        for span in case.outputs
    )
    checks = b"".join(
        struct.pack("<4I", step, span.ref.word, span.size, 0) for step, span in case.checks
    )
    fences = b"".join(
        struct.pack(
            "<4I5i3I",
            *(index, fence.ref.word, fence.row_bytes, fence.ring, fence.height),
            *(fence.reach.factor, fence.reach.low, fence.reach.high, fence.reach.divisor),
            *(fence.scope.start, fence.scope.stop, 0),
        )
        for index, step in enumerate(plan.steps)
        for fence in step.fences
    )
    return struct.pack(
        "<16I",
        *(file.add(plan.constants), len(plan.constants), plan.arena_bytes),
        *(file.add(steps), len(plan.steps)),
        *(file.add(states), len(plan.states)),
        *(file.add(inputs), len(plan.inputs)),
        *(file.add(outputs), len(case.outputs)),
        *(file.add(checks), len(case.checks), int(case.continues)),
        *(file.add(fences), sum(len(step.fences) for step in plan.steps)),
    )
