"""Numbers on the command line, refused with what they may be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import click


class Integer(click.IntRange):
    """An integer within bounds, or one of some words, which stay as they are."""

    name = "integer"

    def __init__(self, least: int, most: int | None = None, words: Sequence[str] = ()) -> None:
        super().__init__(least, most)
        self._words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in self._words:
            return value
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is not {self._expected}", param, ctx)

    @property
    def _expected(self) -> str:
        """`an integer from 1 to 65535`, `an integer from 1, or 'all'`."""
        most = "" if self.max is None else f" to {self.max}"
        words = "".join(f", or {word!r}" for word in self._words)
        return f"an integer from {self.min}{most}{words}"


class PositiveNumber(click.FloatRange):
    """A finite number above 0."""

    name = "float"

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        try:
            number = float(super().convert(value, param, ctx))
        except click.BadParameter:
            number = math.nan
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number above 0", param, ctx)
        return number
