"""Ratios in dB, as results have them."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias


class _NumberOrNull:
    """Tells pydantic the schema, which is not imported for it: requests have results, too."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"type": ["number", "null"]}


Decibels: TypeAlias = Annotated[float, _NumberOrNull()]
"""May be infinite, which is null in JSON."""
