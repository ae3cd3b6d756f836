"""How many bits activations and weights of modules have. Does not import torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cmcompiler.errors import InvalidRequest

NARROW, SHORT = "8w8a", "8w16a"
"""int8 weights with int8, or with int16 activations."""

PRECISIONS = (NARROW, SHORT)
ACTIVATIONS = {"int8": NARROW, "int16": SHORT}
"""The precision of a whole model, by the type of its activations."""

Pattern = tuple[str, str]
"""A pattern of modules' paths, as `encoder.*`, and their precision; the last match counts."""

Patterns = Sequence[Pattern]


def everywhere(activations: str) -> tuple[Pattern, ...]:
    """The patterns of a model whose activations are all of one type."""
    return () if activations == "int8" else (("*", ACTIVATIONS[activations]),)


def read_precision(given: Any, where: str) -> tuple[Pattern, ...]:
    """The patterns of a mapping that users write.

    Raises:
        InvalidRequest: not a mapping of patterns to precisions.
    """
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        expected = '{"encoder.*": "8w16a"}'
        raise InvalidRequest(f"{where}: precision is not a mapping, as {expected}")
    for pattern, precision in given.items():
        if not isinstance(pattern, str) or precision not in PRECISIONS:
            raise InvalidRequest(
                f"{where}: precision {precision!r} of {pattern!r} is not {' or '.join(PRECISIONS)}"
            )
    return tuple(given.items())
