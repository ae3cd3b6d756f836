"""Names of packages: prefixes of C symbols that collide with nothing in a C or C++ program."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from cmbuild.errors import UsageError

LONGEST = 50
"""Characters of a name: more would not do for a library of PlatformIO."""

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_PREFIX = "model_"

_RESERVED = Path(__file__).with_name("reserved_names.txt")
_SUFFIXES = ("hook", "init", "label", "reset", "run", "status")
"""Suffixes that a package's functions and types add to its name."""

_MACROS = ("ARENA", "ARENA_BYTES", "BUSY", "CLASSES", "IDENTITY", "NO_ARENA", "OPS", "STOPPED")
"""Suffixes of its macros and statuses; OK, which more of the library's end with, gives way."""


class UnfitName(UsageError):
    template = "{name!r} {problem}"
    hint = "letters, digits and _, with a letter first: --name kws"


def check_name(name: str) -> str:
    """
    Raises:
        UnfitName: it cannot be the prefix of a package's symbols, macros and files; says why.
    """
    if (problem := problem_of(name)) is not None:
        raise UnfitName(name=_shortened(name), problem=problem)
    return name


def fitting_name(name: str) -> str:
    """A name as it is, or with a prefix or cut off if it cannot be that of a package.

    Args:
        name: an identifier in lower case, made from the name of a file.
    """
    if len(name) > LONGEST:
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        name = f"{name[: LONGEST - len(_PREFIX) - len(digest) - 1].rstrip('_')}_{digest}"
    return name if problem_of(name) is None else f"{_PREFIX}{name.removesuffix('_t')}"


def problem_of(name: str) -> str | None:
    """The fault of a name, as the end of a sentence; None if a package can have it."""
    return next(_problems(name), None)


def _problems(name: str) -> Iterator[str]:
    lower, reserved = name.lower(), _reserved()
    if not _IDENTIFIER.fullmatch(name):
        yield "is not a C identifier"
    if len(name) > LONGEST:
        yield f"has {len(name)} characters; a name has at most {LONGEST}"
    if name in reserved["keywords"]:
        yield "is a keyword of C or C++"
    if lower in reserved["headers"]:
        yield f"would make a header {name}.h, which hides another of this name"
    if name in reserved["library"]:
        yield "is a name of the C or C++ library"
    if name in reserved["macros"]:
        yield "is a macro of builds, CMSIS or Arduino"
    if "__" in name or name.endswith(("_", "_t")):
        yield "is reserved by C, C++ or POSIX: no __, and no _ or _t at the end"
    if f"{lower}_".startswith(("cm_", "cmrt_")):
        yield "begins as the runtime's own names do"
    if lower in reserved["targets"]:
        yield "is a library of toolchains or a target of CMake's"
    symbols = [f"{name}_{suffix}" for suffix in _SUFFIXES]
    for symbol in (*symbols, *(f"{name.upper()}_{suffix}" for suffix in _MACROS)):
        if symbol in reserved["library"]:
            yield f"would define {symbol}, which the C library has"


@cache
def _reserved() -> Mapping[str, frozenset[str]]:
    """The words of each section of the file."""
    sections: dict[str, set[str]] = {}
    words: set[str] = set()
    for line in _RESERVED.read_text("utf-8").splitlines():
        if line.startswith("["):
            words = sections.setdefault(line.strip("[]"), set())
        elif not line.startswith("#"):
            words.update(line.split())
    return {section: frozenset(words) for section, words in sections.items()}


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}…"
