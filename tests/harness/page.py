"""Reads HTML: whether its elements are nested right, and the numbers marked in it."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

_VOID = {"meta", "link", "br", "hr", "img", "wbr"}


class Page(HTMLParser):
    """A page.

    Attributes:
        open: elements without an end.
        numbers: values of <data> by their class, the path of the number in the JSON.
        embedded: the JSON in the page.
        addresses: values of attributes that would load something.
        texts: all that is shown.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.numbers: dict[str, str] = {}
        self.addresses: list[str] = []
        self.texts: list[str] = []
        self._script = ""
        self.feed(html)
        self.close()

    @property
    def embedded(self) -> dict[str, Any]:
        return json.loads(self._script)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        self.addresses += [named[name] or "" for name in ("src", "href") if name in named]
        if tag == "data":
            self.numbers[named["class"] or ""] = named["value"] or ""
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """An element of SVG."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self._script += data
        elif self.open and self.open[-1] != "style":
            self.texts.append(data)


def at(document: Any, path: str) -> Any:
    for key in path.split("."):
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


def assert_same_numbers(numbers: dict[str, str], document: dict[str, Any]) -> None:
    """Each number of the page is the one at its path in a JSON document."""
    assert {path: float(value) for path, value in numbers.items()} == {
        path: float(at(document, path)) for path in numbers
    }
