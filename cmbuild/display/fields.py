"""Fields of results that are not for programs."""

from __future__ import annotations

from typing import Any

SCREEN_ONLY = "screen only"
"""The key of a field's metadata which says that `--json` leaves it out."""


def screen_only() -> dict[str, Any]:
    """Metadata of a field that reports need, and `--json` leaves out."""
    return {SCREEN_ONLY: True}
