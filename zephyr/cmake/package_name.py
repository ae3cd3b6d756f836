"""Prints the name of a package that has none of its own: the stem of a file, fit for C.

Needs nothing but Python: it runs while CMake configures, before `cmbuild package`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve()
CHECKOUT, INSTALLED = HERE.parents[2], HERE.parents[4]
"""Folders that hold cmbuild's Python: a clone of the repository, or a site-packages."""


def package_name(stem: str) -> str:
    sys.path[:0] = [str(CHECKOUT), str(CHECKOUT / "compiler")]
    sys.path += [str(INSTALLED)]
    from cmbuild.packaging.naming import fitting_name

    return fitting_name(re.sub(r"[^0-9A-Za-z]+", "_", stem).strip("_") or "model")


print(package_name(sys.argv[1]))
