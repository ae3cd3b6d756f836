"""Patterns of modules' paths that say which precision each of them has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cmcompiler.frontend.precision import Pattern


def patterns_of(paths: Sequence[str], mix: Sequence[str]) -> tuple[Pattern, ...]:
    """Few patterns, of which the last that matches a module or one around it counts.

    Args:
        paths: of modules; the empty one is the model itself.
        mix: the precision of each.
    """
    chosen = dict(zip(paths, mix, strict=True))
    common = chosen[""] if "" in chosen else Counter(mix).most_common(1)[0][0]
    patterns: list[Pattern] = [("*", common)]
    said = {"": common}
    for path in sorted(chosen, key=lambda each: (each.count("."), each)):
        if path and _around(path, said) != chosen[path]:
            patterns.append((path, chosen[path]))
            said[path] = chosen[path]
    return tuple(patterns)


def _around(path: str, said: dict[str, str]) -> str:
    """Precision that patterns so far give a module: that of the longest path around it."""
    while path not in said:
        path = path.rpartition(".")[0]
    return said[path]
