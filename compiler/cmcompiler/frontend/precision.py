"""How many bits activations and weights of modules have. Does not import torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cmcompiler.errors import InvalidRequest

BYTES, SHORT, NIBBLES, FINE = "8w8a", "8w16a", "4w8a", "16w16a"
"""int8 weights with int8, or with int16 activations; weights of four bits with int8 ones; and both
of 16 bits.
"""

PRECISIONS = (BYTES, SHORT, NIBBLES, FINE)
SHORT_ACTIVATIONS = (SHORT, FINE)
ACTIVATIONS = ("int8", "int16")
WEIGHTS = ("int8", "int4")

_CHOICES = f"{', '.join(PRECISIONS[:-1])} or {PRECISIONS[-1]}"

Pattern = tuple[str, str]
"""A pattern of modules' paths, as `encoder.*`, and their precision; the last match counts."""

Patterns = Sequence[Pattern]


def everywhere(activations: str, weights: str = "int8") -> tuple[Pattern, ...]:
    """The patterns of a model whose activations and weights are all of one type.

    Raises:
        InvalidRequest: types that do not go together.
    """
    if weights == "int4" and activations == "int16":
        raise InvalidRequest(
            "int4 weights with int16 activations are not supported",
            "int16 activations, or int4 weights; modules may differ: docs/accuracy.md",
        )
    if weights == "int4":
        return (("*", NIBBLES),)
    return () if activations == "int8" else (("*", SHORT),)


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
                f"{where}: precision {precision!r} of {pattern!r} is not {_CHOICES}"
            )
    return tuple(given.items())
