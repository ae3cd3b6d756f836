"""Comments that name files which a package does not have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_MADE = re.compile(r"Made from \S+ by `[^`]*`\.")
_MANUAL = re.compile(r"\bdocs/[\w/]+\.md\b")
_OURS = re.compile(r"\b(?:compiler|cmbuild|tests|scripts)/[\w/]*(?:\.\w+)?|\b(?:\w+/)*\w+\.py\b")
_SOURCE = re.compile(r"\b(?:[a-z]\w*/)*(\w+\.[chS])\b")


def with_own_references(text: str, source: Path, places: Mapping[Path, str]) -> str:
    """A C file whose comments name files of the package, and say of others whose they are.

    Args:
        source: the file itself.
        places: of the runtime's files, in the package.
    """
    # Instruction sets have files of the same names: those beside the file are meant.
    near = sorted(places, key=lambda file: file.parent == source.parent)
    names = {file.name: Path(places[file]).name for file in near}
    return _COMMENT.sub(lambda comment: _own(comment[0], names), text)


def _own(comment: str, names: Mapping[str, str]) -> str:
    comment = _MADE.sub("Made by cmbuild's compiler.", comment)
    comment = _MANUAL.sub("cmbuild's manual", comment)
    comment = _OURS.sub("cmbuild's compiler", comment)
    return _SOURCE.sub(lambda match: names.get(match[1], "cmbuild's runtime"), comment)
