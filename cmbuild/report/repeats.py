"""Instructions of an unrolled loop: one turn, and how many follow it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cmbuild.cycles.explanation import TimedInstruction

_LEAST = 4
"""Instructions that a line about their turns replaces."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """Instructions that are shown, and turns of the same ones that are not.

    Attributes:
        first: the instructions of one turn.
        more: those of all turns after it, whose operands may be others.
        turns: how many those are.
    """

    first: Sequence[TimedInstruction]
    more: Sequence[TimedInstruction] = ()
    turns: int = 0


def repeats(instructions: Sequence[TimedInstruction]) -> Iterator[Repeats]:
    """All instructions in order; turns are those of the same operations, one after the other."""
    names = [each.text.partition(" ")[0] for each in instructions]
    start = at = 0
    while at < len(names):
        length, turns = _loop(names, at)
        if turns == 0:
            at += 1
            continue
        if start < at:
            yield Repeats(instructions[start:at])
        end = at + length * (turns + 1)
        yield Repeats(instructions[at : at + length], instructions[at + length : end], turns)
        start = at = end
    if start < at:
        yield Repeats(instructions[start:at])


def _loop(names: Sequence[str], at: int) -> tuple[int, int]:
    """Length of the turns that begin at a place, and how many follow the first; 0 if none do."""
    best = (0, 0)
    for length in range(1, (len(names) - at) // 2 + 1):
        turn, turns = names[at : at + length], 0
        while names[at + length * (turns + 1) : at + length * (turns + 2)] == turn:
            turns += 1
        # The shortest turn among equally long ones.
        if length * turns >= _LEAST and length * turns > best[0] * best[1]:
            best = (length, turns)
    return best
