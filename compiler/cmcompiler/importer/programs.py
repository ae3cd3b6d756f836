"""The readers of the formats that programs come in."""

from __future__ import annotations

from cmcompiler.importer.suffixes import PTE, TFLITE
from cmcompiler.pte.program import Program


def parse(data: bytes | memoryview, suffix: str = PTE, *, keep_state: bool = False) -> Program:
    """The typed program in a file's bytes.

    Args:
        suffix: of the file's name; a file without a known one is read as a `.pte`.
        keep_state: an LSTM of a `.tflite` goes on where the run before ended.

    Raises:
        InvalidProgram: not a well-formed program.
        Unsupported: a form of program that is not supported.
    """
    if suffix == TFLITE:
        from cmcompiler.tflite.reader import read_tflite

        return read_tflite(data, keep_state=keep_state)
    from cmcompiler.pte.reader import read_program

    return read_program(data)
