"""Recovers the branches of a method from its jumps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cmcompiler.errors import Unsupported
from cmcompiler.pte.program import JumpFalseInstruction, KernelInstruction, Method, MoveInstruction

DEEPEST = 16
"""Maximum nesting of branches."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """An instruction and its index in the method."""

    number: int
    instruction: KernelInstruction | MoveInstruction


@dataclass(frozen=True, slots=True)
class Branch:
    """A block for each value of a condition.

    Attributes:
        number: of the jump.
        condition: index of the value.
    """

    number: int
    condition: int
    when_true: Block
    when_false: Block


Block = Sequence[Numbered | Branch]


def structured(method: Method) -> Block:
    """The instructions of a method, nested as in torch.cond.

    ExecuTorch emits a jump to the second branch if the condition is false, the first branch, a jump
    to the end (if False is false), and the second branch. The first branch may also fall through,
    with no second one.

    Raises:
        Unsupported: any other arrangement of jumps, such as a loop.
    """
    for number, instruction in enumerate(method.instructions):
        if isinstance(instruction, JumpFalseInstruction) and instruction.destination <= number:
            raise Unsupported(
                f"loops are not supported: instruction #{number} jumps back to "
                f"#{instruction.destination}",
                "unroll it in the model: a Python loop over a range is unrolled by torch.export",
            )
    return _block(method, 0, len(method.instructions), 0)


def _block(method: Method, start: int, end: int, depth: int) -> Block:
    """The instructions [start, end)."""
    items: list[Numbered | Branch] = []
    while start < end:
        instruction = method.instructions[start]
        if isinstance(instruction, JumpFalseInstruction):
            branch, start = _branch(method, start, end, depth + 1)
            items.append(branch)
        else:
            items.append(Numbered(start, instruction))
            start += 1
    return items


def _branch(method: Method, number: int, end: int, depth: int) -> tuple[Branch, int]:
    """The branch that begins with a jump, and the index of the instruction after it."""
    jump = method.instructions[number]
    assert isinstance(jump, JumpFalseInstruction)
    if depth > DEEPEST:
        raise Unsupported(f"instruction #{number} is a branch nested in {DEEPEST} others")
    first_end = second_end = jump.destination
    last = method.instructions[first_end - 1]
    if (
        first_end - 1 > number
        and isinstance(last, JumpFalseInstruction)
        and _is_false(method, last)
    ):
        first_end, second_end = first_end - 1, last.destination
    if second_end > end:
        raise Unsupported(f"the jumps around instruction #{number} are not branches")
    branch = Branch(
        number,
        jump.condition,
        _block(method, number + 1, first_end, depth),
        _block(method, jump.destination, second_end, depth),
    )
    return branch, second_end


def _is_false(method: Method, jump: JumpFalseInstruction) -> bool:
    """Whether a jump is always taken."""
    return method.values[jump.condition] is False
