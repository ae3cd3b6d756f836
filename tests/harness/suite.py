"""A small suite in place of ExecuTorch's own, with tests that end in every way."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "data" / "conformance"


def with_small_suite(folder: Path = FOLDER) -> Mapping[str, str]:
    """An environment in which it is part of executorch, and found before the real one."""
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}
