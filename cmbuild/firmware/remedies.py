"""Remedies that make a program fit: each is tried, and none is offered that does not help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from cmcompiler.errors import CompilerError
from cmcompiler.isa import Isa


@dataclass(frozen=True, slots=True)
class Choice:
    """A user's choices for a program's plan.

    Attributes:
        io, feed: see cmbuild.pipeline.request.Boundary.
        streams: whether ops may run in turns.
        wide: weights are of int16.
    """

    io: str
    feed: str | None
    streams: bool
    isa: Isa
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """A remedy that was tried.

    Attributes:
        options: of the command line.
        over: bytes too many with it; 0 if all fits, None if there is no such plan.
    """

    options: str
    over: int | None


def attempts(
    choice: Choice, isas: Sequence[Isa], over: int, sized: Callable[[Choice], int]
) -> list[Attempt]:
    """Each remedy alone and, if none is enough, all together that help.

    Args:
        isas: that the board has.
        over: bytes too many now.
        sized: bytes too many with another choice; raises CompilerError if there is no such plan.
    """
    attempts: list[Attempt] = []
    better = choice
    options = []
    for words, changed in _remedies(choice, isas):
        attempt = Attempt(words, _tried(changed, sized))
        attempts.append(attempt)
        if attempt.over is not None and attempt.over < over:
            options.append(words)
            better = _both(choice, better, changed)
    if len(options) > 1 and all(attempt.over != 0 for attempt in attempts):
        attempts.append(Attempt(" ".join(_last_of_each(options)), _tried(better, sized)))
    return attempts


def advice(tried: Sequence[Attempt], over: int) -> str:
    """A hint: what fits, or else what the remedies give; no option that does not help."""
    enough = [attempt.options for attempt in tried if attempt.over == 0]
    if enough:
        return f"{' or '.join(enough)}, with which it fits"
    told = [f"{attempt.options}: {_outcome(attempt, over)}" for attempt in tried]
    remedies = f"tried without success: {'; '.join(told)}" if told else "no option makes it smaller"
    return f"a smaller model or input, or a larger board ({remedies})"


def _remedies(choice: Choice, isas: Sequence[Isa]) -> Iterator[tuple[str, Choice]]:
    if choice.io == "program":
        yield "--io int8", replace(choice, io="int8")
    if not choice.streams:
        yield "without --no-streams", replace(choice, streams=True)
    elif choice.feed == "whole":
        yield "--feed rows", replace(choice, feed="rows")
    if choice.wide:
        yield "without --weights-as int16", replace(choice, wide=False)
    for isa in isas:
        if isa < choice.isa and not choice.wide:
            yield f"--isa {isa.label}", replace(choice, isa=isa)


def _tried(choice: Choice, sized: Callable[[Choice], int]) -> int | None:
    try:
        return max(0, sized(choice))
    except CompilerError:
        return None


def _both(base: Choice, one: Choice, other: Choice) -> Choice:
    """The differences of both from the base; the latter's where both differ."""
    names = ("io", "feed", "streams", "isa", "wide")
    changed = {n: getattr(other, n) for n in names if getattr(other, n) != getattr(base, n)}
    return replace(one, **changed)


def _last_of_each(options: Sequence[str]) -> list[str]:
    """The last of options given twice, such as --isa."""
    return list({words.partition(" ")[0]: words for words in options}.values())


def _outcome(attempt: Attempt, over: int) -> str:
    if attempt.over is None:
        return "impossible"
    if attempt.over == over:
        return "no change"
    return f"still {attempt.over:,} bytes over in all"
