"""The type of a model's weights, as `--weights` says besides a file."""

from __future__ import annotations

import re
from pathlib import Path

from cmbuild.errors import UsageError
from cmcompiler.frontend.precision import WEIGHTS, Pattern, everywhere


def divided(weights: Path | None, kind: str | None) -> dict[str, Path | str | None]:
    """The fields of a request for `int4`, `FILE,int4` or the like: the file, if any, and the type.

    Raises:
        UsageError: no type of weights.
    """
    expected = f"{', '.join(WEIGHTS[:-1])} or {WEIGHTS[-1]}"
    if kind not in (None, *WEIGHTS):
        raise UsageError(message=f"weight_type={kind!r}: expected {expected}")
    file, _, last = str(weights or "").rpartition(",")
    if last and last not in WEIGHTS and re.fullmatch(r"u?int\d+(/\d+)?", last):
        raise UsageError(message=f"--weights {last!r}: expected a file, {expected}")
    if last not in WEIGHTS:
        return {"weights": weights, "weight_type": kind}
    return {"weights": Path(file) if file else None, "weight_type": last}


def patterns(
    activations: str | None, weights: str | None, precision: tuple[Pattern, ...]
) -> tuple[Pattern, ...]:
    """The precision of all modules by its types, then of those that the project names."""
    return (*everywhere(activations or "int8", weights or "int8"), *precision)
