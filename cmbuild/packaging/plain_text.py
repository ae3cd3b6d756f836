"""Sources as compilers and licence scanners of product teams want them: ASCII, with SPDX lines."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SUFFIXES = (".c", ".h", ".S")
_LICENCE = "/* SPDX-License-Identifier: BSD-3-Clause */\n"

_LITERAL = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_BEYOND = re.compile(r"[^\x00-\x7f]")
_PLAIN = {"×": "x", "…": "...", "–": "-", "→": "->", "≥": ">=", "≤": "<="}


def plain_sources(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of a package by path: sources in ASCII, those of the runtime with their licence."""
    return {
        path: _plain(path, content) if path.endswith(_SUFFIXES) else content
        for path, content in files.items()
    }


def _plain(path: str, content: bytes) -> bytes:
    text = content.decode()
    if not text.isascii():
        text = _LITERAL.sub(_escaped, text)
        text = _BEYOND.sub(_spelt, text)
    licence = _LICENCE if "/runtime/" in f"/{path}" else ""
    return (licence + text).encode("ascii")


def _escaped(literal: re.Match[str]) -> str:
    """A string with the same bytes: octal escapes end after three digits, whatever follows."""
    text = literal[0]
    if not text.startswith('"'):
        return text
    return _BEYOND.sub(lambda each: "".join(f"\\{byte:03o}" for byte in each[0].encode()), text)


def _spelt(character: re.Match[str]) -> str:
    return _PLAIN.get(character[0], "?")
