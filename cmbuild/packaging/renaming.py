"""C text under a model's own names, so that several packages link into one image."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from cmbuild.packaging.runtime_sources import find_header

_FUNCTION = re.compile(r"\bcm_(?=\w)")
_MACRO = re.compile(r"\b(?=CM(?:RT)?_\w)")
_KERNEL = re.compile(
    r"^void (cm_\w+)\(const struct cm_context \*\w+,\s*const struct cm_call ", re.M
)
_INCLUDE = re.compile(r'^(\s*#\s*include\s+)"([^"]+)"', re.MULTILINE)
_INCLUDE_LINE = re.compile(r"^#include .*\n", re.MULTILINE)


def renamed(text: str, name: str) -> str:
    """C, assembly or CMake text: `cm_add` becomes NAME_cm_add, `CM_SLACK` NAME_CM_SLACK."""
    return _MACRO.sub(f"{name.upper()}_", _FUNCTION.sub(f"{name}_cm_", text))


def with_prototypes(text: str) -> str:
    """A C file that declares the kernels that it defines, as strict warnings ask for."""
    names = _KERNEL.findall(text)
    includes = list(_INCLUDE_LINE.finditer(text))
    if not names or not includes:
        return text
    end = includes[-1].end()
    declarations = "".join(f"cm_kernel {name};\n" for name in names)
    return f"{text[:end]}\n{declarations}{text[end:]}"


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
