"""The readers of the formats that programs come in."""

from __future__ import annotations

from cmcompiler.importer.suffixes import PTE, TFLITE
from cmcompiler.pte.program import Program


def parse(data: bytes | memoryview, suffix: str = PTE) -> Program:
    """The typed program in a file's bytes.

    Args:
        suffix: of the file's name; a file without a known one is read as a `.pte`.

    Raises:
        InvalidProgram: not a well-formed program.
        Unsupported: a form of program that is not supported.
    """
    if suffix == TFLITE:
        from cmcompiler.tflite.reader import read_tflite

        return read_tflite(data)
    from cmcompiler.pte.reader import read_program

    return read_program(data)
