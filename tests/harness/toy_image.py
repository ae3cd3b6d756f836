"""A small model in C, planned by hand, to test the rest of an image."""

from __future__ import annotations

import shutil
from pathlib import Path

from cmbuild.launchers.execution import Interface

_SOURCES = Path(__file__).parents[1] / "runtime" / "toy"

INTERFACE = Interface(identity="0123456789abcdef", inputs=(100,), outputs=(100, 4), steps=2)
"""Adds 1 to each byte of its input in two steps; the second output is a constant."""

WEIGHTS = b"(WXYZ)"


def write_toy_model(
    folder: Path, body: str = "(void)context;", *, helpers: str = "", weights: int = 68
) -> Path:
    """Writes the model's sources into a new folder.

    Args:
        body: C statements at the start of the first step; `context` is available.
        helpers: C declarations before that.
        weights: bytes of the constants.
    """
    shutil.copytree(_SOURCES, folder)
    (folder / "body.h").write_text(
        f"{helpers}\n"
        f"static inline void body(const struct cm_context *context)\n{{\n    {body}\n}}\n"
    )
    (folder / "weights.bin").write_bytes(WEIGHTS + bytes(weights - len(WEIGHTS)))
    return folder


def expected(sample: bytes) -> tuple[bytes, bytes]:
    """The model's outputs for an input."""
    return bytes((byte + 2) % 256 for byte in sample), WEIGHTS[1:5]
