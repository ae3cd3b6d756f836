"""A cache of compilers, as tests build the same libraries for many caches of cmbuild's own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import gettempdir


def variables() -> dict[str, str]:
    """What makes CMake start compilers by ccache, wherever a command takes its home to be."""
    languages = ("C", "CXX", "ASM")
    # Whole: tests also give commands a PATH of a few programs.
    program = shutil.which("ccache") or "ccache"
    return {
        **{f"CMAKE_{language}_COMPILER_LAUNCHER": program for language in languages},
        "CCACHE_DIR": os.environ.get("CCACHE_DIR", str(Path.home() / ".cache" / "ccache")),
        # Paths in objects are relative to the sources; debug information has the sources' digests.
        "CCACHE_NOHASHDIR": "1",
        # Each image has a folder of its own for what is made for it, which all its files search.
        "CCACHE_BASEDIR": gettempdir(),
        "CCACHE_COMMENTS": "1",
        # Compilers say what a file includes as they compile it: it is not preprocessed before.
        "CCACHE_DEPEND": "1",
    }
