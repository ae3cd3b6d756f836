"""Figures of the models of the zoo, from tests/data/zoo.toml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from cmbuild.strictfile import tomllib

FILE = Path(__file__).parents[1] / "data" / "zoo.toml"


class Figures(BaseModel):
    """A model's entry in the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    macs: float | None = None
    arena: int | None = None
    streamed: int | None = None
    code: Mapping[str, int] | None = None
    needs_more: bool = False
    executorch: str | None = None
    outside: frozenset[str] = frozenset()
    too_large_for: tuple[str, ...] = ()


FIGURES = {
    name: Figures.model_validate(table)
    for name, table in tomllib.loads(FILE.read_text("utf-8")).items()
}


def known(key: str) -> list[str]:
    """Models with a figure of this name in the file."""
    return [name for name, figures in FIGURES.items() if getattr(figures, key) is not None]
