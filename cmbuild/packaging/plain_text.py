"""Sources as compilers and licence scanners of product teams want them: ASCII, with SPDX lines."""

from __future__ import annotations

import re
from collections.abc import Mapping

KERNELS = "kernels"
"""Folder of a project's own kernels, whose licence is the project's."""

LICENCE = "BSD-3-Clause"
"""SPDX's name of the licence of cmbuild's code."""

_SOURCES = (".c", ".cpp", ".h", ".S")
_LISTS = (".cmake", "CMakeLists.txt")
_SPDX = "SPDX-License-Identifier"
_OWNED = "/* This licence is the code's; the model's owner decides on its numbers. */\n"
_ARRAYS = ("_weights.c", "_vector_bytes.c")
"""Files of the model's numbers alone."""

_NUMBERS = ("_plan.c", "_vectors.c", "_weights.S", "_vectors.S")
"""Files of code with what the model consists of, or what includes it."""


_LITERAL = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_BEYOND = re.compile(r"[^\x00-\x7f]")
_OCTAL_THEN_TEXT = re.compile(r'((?<!\\)(?:\\\\)*\\[0-3][0-7]{2})(?=[^"\\])')
_PLAIN = {"×": "x", "…": "...", "–": "-", "→": "->", "≥": ">=", "≤": "<="}


def plain_sources(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of a package by path: sources in ASCII, with their licence."""
    made = {
        path: _plain(content) if path.endswith(_SOURCES) else content
        for path, content in files.items()
    }
    return {path: _notice(path, content).encode() + content for path, content in made.items()}


def is_licensed(path: str) -> bool:
    """Whether a file of a package is code of cmbuild: neither the model's nor a project's own."""
    if path.endswith(_ARRAYS):
        return False
    return path.endswith((*_SOURCES, *_LISTS)) and f"/{KERNELS}/" not in f"/{path}"


def _notice(path: str, content: bytes) -> str:
    if path.endswith(_ARRAYS):
        return f"/* {_SPDX}: LicenseRef-owner-of-the-model */\n"
    if not is_licensed(path) or _SPDX.encode() in content:
        return ""
    if path.endswith(_LISTS):
        return f"# {_SPDX}: {LICENCE}\n"
    return f"/* {_SPDX}: {LICENCE} */\n{_OWNED if path.endswith(_NUMBERS) else ''}"


def _plain(content: bytes) -> bytes:
    text = content.decode()
    if not text.isascii():
        text = _LITERAL.sub(_escaped, text)
        text = _BEYOND.sub(_spelt, text)
    return text.encode("ascii")


def _escaped(literal: re.Match[str]) -> str:
    """A string with the same bytes. An octal escape ends after three digits, whatever follows, but
    MISRA C wants it to end with the string or at another escape: what follows is a second string.
    """
    text = literal[0]
    if not text.startswith('"'):
        return text
    text = _BEYOND.sub(lambda each: "".join(f"\\{byte:03o}" for byte in each[0].encode()), text)
    return _OCTAL_THEN_TEXT.sub(r'\1" "', text)


def _spelt(character: re.Match[str]) -> str:
    return _PLAIN.get(character[0], "?")
