"""Names close to a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint: the closest known names if any are close, otherwise all of them."""
    from difflib import get_close_matches

    names = sorted(known)
    close = get_close_matches(name, names)
    if not close:
        return f"known: {', '.join(names)}"
    ratios = {other: likeness(other, name) for other in close}
    best = max(ratios.values())
    return f"did you mean {' or '.join(sorted(n for n in close if ratios[n] == best))}?"


def likeness(one: str, other: str) -> float:
    """From 0 to 1, for equal names."""
    from difflib import SequenceMatcher

    return SequenceMatcher(None, one, other).ratio()
