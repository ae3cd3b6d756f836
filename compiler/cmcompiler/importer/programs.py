"""The readers of the formats that programs come in."""

from __future__ import annotations

from collections.abc import Callable

from cmcompiler.importer.suffixes import PROGRAMS, PTE
from cmcompiler.pte.program import Program
from cmcompiler.pte.reader import read_program
from cmcompiler.tflite.reader import read_tflite

_READERS: dict[str, Callable[[bytes | memoryview], Program]] = dict(
    zip(PROGRAMS, (read_program, read_tflite), strict=True)
)


def parse(data: bytes | memoryview, suffix: str = PTE) -> Program:
    """The typed program in a file's bytes.

    Args:
        suffix: of the file's name; a file without a known one is read as a `.pte`.

    Raises:
        InvalidProgram: not a well-formed program.
        Unsupported: a form of program that is not supported.
    """
    return _READERS.get(suffix, read_program)(data)
