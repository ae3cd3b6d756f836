"""C text under a model's own names, so that several packages link into one image."""

from __future__ import annotations

import keyword
import os.path
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from cmbuild.errors import UsageError
from cmbuild.packaging.runtime_sources import find_header

_FUNCTION = re.compile(r"\bcm_(?=\w)")
_MACRO = re.compile(r"\b(?=CM(?:RT)?_\w)")
_INCLUDE = re.compile(r'^(\s*#\s*include\s+)"([^"]+)"', re.MULTILINE)
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

# Of C11 and C++20, as far as they are not Python's too.
_C_WORDS = re.compile(
    "alignas|alignof|asm|auto|bool|case|catch|char|const|constexpr|decltype|default|delete|do|"
    "double|enum|explicit|export|extern|false|float|friend|goto|inline|int|long|main|mutable|"
    "namespace|new|noexcept|nullptr|operator|private|protected|public|register|restrict|short|"
    "signed|sizeof|static|struct|switch|template|this|throw|true|typedef|typeid|typename|union|"
    "unsigned|using|virtual|void|volatile"
)


class UnfitName(UsageError):
    template = "{name!r} is not a C identifier"
    hint = "letters, digits and _, with a letter first: --name kws"


def check_name(name: str) -> str:
    """
    Raises:
        UnfitName: it cannot be the prefix of C symbols.
    """
    if not _IDENTIFIER.fullmatch(name) or _C_WORDS.fullmatch(name) or keyword.iskeyword(name):
        raise UnfitName(name=name)
    return name


def renamed(text: str, name: str) -> str:
    """C, assembly or CMake text: `cm_add` becomes NAME_cm_add, `CM_SLACK` NAME_CM_SLACK."""
    return _MACRO.sub(f"{name.upper()}_", _FUNCTION.sub(f"{name}_cm_", text))


def placed(text: str, source: Path, places: Mapping[Path, str]) -> str:
    """A C file with its includes as in a package.

    Args:
        source: the file itself.
        places: of every file of the package, relative to it.
    """
    own = PurePosixPath(places[source]).parent

    def include(match: re.Match[str]) -> str:
        target = places.get(find_header(match[2], source))
        if target is None:
            return match[0]
        return f'{match[1]}"{os.path.relpath(target, own)}"'

    return _INCLUDE.sub(include, text)
