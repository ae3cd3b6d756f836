"""A Python environment without the packages that export, as on a fresh CI machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from cmcompiler.frontend.job import PACKAGES
from harness.sources import ROOT

_ABSENT = {"functorch", "sklearn", "torchgen", *(name.replace("-", "_") for name in PACKAGES)}


def cold_python(folder: Path) -> Path:
    """The interpreter of a new environment with links to all other packages installed here."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for path in Path(click.__file__).parents[1].iterdir():
        name = path.name.partition("-")[0].removesuffix(".py").lower()
        if name not in _ABSENT and path.suffix != ".pth":
            (site / path.name).symlink_to(path)
    (site / "own.pth").write_text(f"{ROOT}\n{ROOT / 'compiler'}\n")
    return folder / "bin" / "python"
