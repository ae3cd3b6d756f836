"""C text under a model's own names, so that several packages link into one image."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from cmbuild.packaging.runtime_sources import find_header

_FUNCTION = re.compile(r"\bcm_(?=\w)")
_MACRO = re.compile(r"\b(?=CM(?:RT)?_\w)")
_INCLUDE = re.compile(r'^(\s*#\s*include\s+)"([^"]+)"', re.MULTILINE)


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
