"""Results as tables of HTML, which Jupyter shows of a cell's last value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import ClassVar, TypeVar


class HtmlTable:
    """A result that is a table, of one row unless `rows` says otherwise.

    Attributes:
        COLUMNS: attributes of a row, with dots for those of attributes: `memory.ram.total`.
    """

    __slots__ = ()

    COLUMNS: ClassVar[tuple[str, ...]] = ()

    def rows(self) -> Iterable[object]:
        return (self,)

    def _repr_html_(self) -> str:
        return _table(self.COLUMNS, self.rows())


T = TypeVar("T", bound=HtmlTable)


class ResultTable(tuple[T, ...]):
    """Several results of one kind, in one table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows = [row for result in self for row in result.rows()]
        return _table(self[0].COLUMNS if self else (), rows)


def _table(columns: Sequence[str], rows: Iterable[object]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(row, column)}</td>" for column in columns) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(row: object, column: str) -> str:
    value: object = row
    for name in column.split("."):
        value = getattr(value, name, None)
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))
