"""Data sets that scikit-learn's package holds, read without importing it, which takes a second."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cmcompiler.errors import MissingPackage
from cmcompiler.installation import pip_command

if TYPE_CHECKING:
    from PIL.Image import Image


def handwritten_digits() -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """1,797 images of pixels from 0 to 16, shape (images, 8, 8), and their digits, both float64.

    Raises:
        MissingPackage: scikit-learn is not installed.
    """
    rows = np.loadtxt(_datasets() / "data" / "digits.csv.gz", delimiter=",")
    return rows[:, :-1].reshape(-1, 8, 8), rows[:, -1]


def photographs() -> tuple[Image, Image]:
    """A temple and a flower, 640 pixels wide and 427 high.

    Raises:
        MissingPackage: scikit-learn is not installed.
    """
    from PIL.Image import open as opened

    folder = _datasets() / "images"
    with opened(folder / "china.jpg") as temple, opened(folder / "flower.jpg") as flower:
        return temple.convert("RGB"), flower.convert("RGB")


def _datasets() -> Path:
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise MissingPackage("exporting: No module named 'sklearn'", pip_command("export"))
    return Path(package.origin).parent / "datasets"
