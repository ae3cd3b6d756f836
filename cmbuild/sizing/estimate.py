"""Estimates a program's use of a board's memory without building its image."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild import paths
from cmbuild.boards.board import Board
from cmbuild.image.stack_depth import stack_bytes
from cmbuild.pipeline.copies import Copying
from cmbuild.sizing.linking import Linked
from cmbuild.sizing.prediction import predict, work_by_kernel
from cmbuild.sizing.results import PredictedCycles
from cmbuild.sizing.waiting import StepWork, hot_parts, with_flash
from cmbuild.toolchain.kernel_sources import without_comments
from cmbuild.toolchain.toolchains import has_stack_limit
from cmcompiler.ir.work import Work

if TYPE_CHECKING:
    from cmcompiler.plan.plan import Plan

# The code compiled for each image, of runtime/cortexm and the executor:
# measured on images for M4, M33 and M55, whose figures lie within 60 bytes of each other.
_SUPPORT_CODE = 1550
_SUPPORT_VARIABLES = 36

# On the way from reset to a kernel: measured on the zoo's images for five cores.
_SUPPORT_STACK = 864

# A board's own C files: bytes of code for each character that is no comment, on rp2350.
_CODE_A_CHARACTER = 0.3

_VECTORS, _VECTOR_BYTES = 16, 4  # vectors of the core itself

# sizeof struct cm_step, cm_port, cm_state and cm_program, and the identity, of cmrt/program.h.
_STEP, _PORT, _STATE, _PROGRAM = 16, 8, 12, 48 + 33


class Basis(Enum):
    """The source of a figure for code."""

    LIBRARY = "library"
    """The sections that would be linked, of the very library."""
    RELATED = "related"
    """Source of figures from a library for another core with the same instruction set."""
    TABLE = "table"
    """No library in the cache: sections of one that was built with gcc elsewhere."""
    ASSUMED = "assumed"
    """A kernel that the table does not have: more than any model of the zoo needs."""


@dataclass(frozen=True, slots=True)
class ProgramSize:
    """Sizes of a plan in bytes; known exactly.

    Attributes:
        tables: steps and their arguments.
        kernels: that are called, without `cm_`.
        isa: that they are to use.
        work: of each of them.
        steps: the work of each one.
    """

    constants: int
    arena: int
    tables: int
    kernels: tuple[str, ...]
    isa: str = ""
    work: Mapping[str, Work] = field(default_factory=dict)
    steps: tuple[StepWork, ...] = ()

    @classmethod
    def of(cls, plan: Plan) -> ProgramSize:
        words = sum(len(step.words) for step in plan.steps)
        ports = len(plan.inputs) + len(plan.outputs)
        tables = 4 * words + _STEP * len(plan.steps) + _PORT * ports + _STATE * len(plan.states)
        kernels = {step.kernel for step in plan.steps if step.is_call}
        return cls(
            constants=len(plan.constants),
            arena=plan.arena_bytes,
            tables=tables + _PROGRAM,
            kernels=tuple(sorted(kernels)),
            isa=plan.isa.label,
            work=work_by_kernel(plan),
            steps=StepWork.of_plan(plan),
        )

    def cycles_on(self, board: Board, copying: Copying) -> PredictedCycles | None:
        """Cycles on a board; None where the cost of a kernel is not known."""
        cycles = predict(board, self.isa, self.work)
        if cycles is None:
            return None
        hot = hot_parts(board, copying, self.steps, self.constants, self.arena)
        return with_flash(board, cycles, self.steps, hot)


@dataclass(frozen=True, slots=True)
class CodeSize:
    """Sizes of the rest of an image in bytes; estimated.

    Attributes:
        code: everything loaded but the constants.
        variables: without arena and stack.
        hot: of the code, what the board copies to RAM.
        stack: what the image would reserve if the board leaves that to it.
    """

    code: int
    variables: int
    basis: Basis
    hot: int = 0
    stack: int = 0


ASSUMED = CodeSize(48 << 10, _SUPPORT_VARIABLES, Basis.ASSUMED)
_ASSUMED_HOT = 16 << 10  # every microkernel of a core


@dataclass(frozen=True, slots=True)
class Need:
    """Sizes of a program's image on a board.

    Attributes:
        stack: bytes that are reserved for it.
        over: by region, how many bytes there are too few; empty if all fits.
    """

    program: ProgramSize
    code: CodeSize
    stack: int
    over: Mapping[str, int]

    @property
    def flash(self) -> int:
        return self.program.constants + self.code.code

    @property
    def ram(self) -> int:
        return self.program.arena + self.static + self.stack

    @property
    def static(self) -> int:
        """Bytes of RAM that are in use from the start to the end."""
        return self.code.variables + self.code.hot


def need(board: Board, program: ProgramSize, code: CodeSize) -> Need:
    """
    Args:
        board: one with regions.
    """
    assert board.layout is not None
    layout = board.layout
    used: Counter[str] = Counter()
    used[layout.code] += code.code
    used[layout.constants] += program.constants
    stack = code.stack if board.stack is None else board.stack
    used[layout.data] += stack + code.variables
    used[layout.arena] += program.arena
    if layout.hot is not None:
        used[layout.hot] += code.hot
    if layout.hot_kernels is not None:
        used[layout.hot_kernels] += code.code  # the image without start-up and tables
    over = {name: size - board.regions[name].size for name, size in used.items()}
    return Need(program, code, stack, {name: size for name, size in over.items() if size > 0})


_SHARED_CODE = "cmrt/chip_or_simulator.h"
"""Functions of the boards that include it, not of the library."""


def functions(board: Board, program: ProgramSize) -> list[str]:
    """Functions that an image calls, and more names of C that the library does not have."""
    text = _board_text(board) + _text(paths.runtime() / "cortexm")
    text += (paths.runtime() / "runner" / "static_executor.c").read_text()
    kernels = {f"cm_{kernel}" for kernel in program.kernels}
    return sorted(kernels.union(re.findall(r"\bcm_\w+", text)))


def assumed(board: Board) -> CodeSize:
    """Sizes of kernels that neither a library nor the table has; they have no variables, so RAM is
    as exact as with one, unless the board copies code to it.
    """
    sizes = replace(ASSUMED, stack=board.assumed_stack)
    return replace(sizes, hot=_ASSUMED_HOT) if _copies(board) else sizes


def code_size(board: Board, program: ProgramSize, linked: Linked, basis: Basis) -> CodeSize:
    own = round(_CODE_A_CHARACTER * len(_board_text(board)))
    vectors = _VECTOR_BYTES * (_VECTORS + _interrupts(board))
    return CodeSize(
        code=linked.code + program.tables + vectors + _SUPPORT_CODE + own,
        variables=linked.variables + _SUPPORT_VARIABLES,
        basis=basis,
        hot=linked.hot if _copies(board) else 0,
        stack=_stack(board, linked),
    )


def _stack(board: Board, linked: Linked) -> int:
    if linked.stack is None:
        return board.assumed_stack
    return stack_bytes(_SUPPORT_STACK + linked.stack, has_limit=has_stack_limit(board.cpu))


def _copies(board: Board) -> bool:
    """Whether the board runs microkernels from RAM."""
    return board.layout is not None and board.layout.hot is not None


def _board_text(board: Board) -> str:
    """The board's code: its own, or that of runtime/cmake/firmware.cmake for boards without any."""
    text = _text(board.folder)
    if not any(board.folder.glob("*.c")):
        text += _text(paths.runtime() / "cortexm" / "reset_state")
    if f'#include "{_SHARED_CODE}"' in text:
        text += without_comments((paths.runtime() / "include" / _SHARED_CODE).read_text())
    return text


def _text(folder: Path) -> str:
    """C and assembly without comments."""
    files = (file for file in sorted(folder.iterdir()) if file.suffix in (".c", ".S"))
    return "".join(without_comments(file.read_text("utf-8", "replace")) for file in files)


def _interrupts(board: Board) -> int:
    text = (board.folder / "interrupts.h").read_text("utf-8", "replace")
    match = re.search(r"CM_INTERRUPTS (\d{1,9})", text)
    return int(match[1]) if match else 0
