"""A small replacement for ExecuTorch's test suite, with tests of every outcome."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "data" / "conformance"


def with_small_suite(folder: Path = FOLDER) -> Mapping[str, str]:
    """An environment where it is part of executorch and found before the real one."""
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}
