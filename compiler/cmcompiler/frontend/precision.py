"""How many bits activations and weights of modules have. Does not import torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cmcompiler.errors import InvalidRequest

BYTES, SHORT, NIBBLES, NIBBLES_SHORT, FINE = "8w8a", "8w16a", "4w8a", "4w16a", "16w16a"
"""int8 weights with int8, or with int16 activations; weights of four bits with either; and both of
16 bits.
"""

SIZES = (32, 64, 128)
"""Columns of a group, as in cmcompiler.ops.support.weight_groups."""

GROUPS = {f"{NIBBLES}/{size}": size for size in SIZES}
"""Weights of four bits with a scale for so many columns, and int8 activations."""

PRECISIONS = (BYTES, SHORT, NIBBLES, *GROUPS, NIBBLES_SHORT, FINE)
SHORT_ACTIVATIONS = (SHORT, NIBBLES_SHORT, FINE)
ACTIVATIONS = ("int8", "int16")
WEIGHTS = ("int8", "int4", *(f"int4/{size}" for size in SIZES), "int16")

_TYPES = {
    ("int8", "int8"): BYTES,
    ("int8", "int16"): SHORT,
    ("int4", "int8"): NIBBLES,
    ("int4", "int16"): NIBBLES_SHORT,
    ("int16", "int16"): FINE,
    **{(f"int4/{size}", "int8"): name for name, size in GROUPS.items()},
}
"""The precision of weights and activations."""

_CHOICES = f"{', '.join(PRECISIONS[:-1])} or {PRECISIONS[-1]}"

Pattern = tuple[str, str]
"""A pattern of modules' paths, as `encoder.*`, and their precision; the last match counts."""

Patterns = Sequence[Pattern]

EVERYTHING = "*"
"""The pattern of the whole model."""


def everywhere(activations: str, weights: str = "int8") -> tuple[Pattern, ...]:
    """The patterns of a model whose activations and weights are all of one type.

    Raises:
        InvalidRequest: types that do not go together.
    """
    precision = _TYPES.get((weights, activations))
    if precision is None:
        others = " or ".join(kind for held, kind in _TYPES if held == weights)
        raise InvalidRequest(
            f"{weights} weights with {activations} activations are not supported",
            f"{others} activations go with them; modules may differ: docs/accuracy.md",
        )
    return () if precision == BYTES else ((EVERYTHING, precision),)


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
