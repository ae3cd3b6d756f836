"""The reader of a program is chosen by the suffix of its file."""

from __future__ import annotations

import pytest

from cmcompiler.errors import InvalidProgram
from cmcompiler.importer.programs import parse
from cmcompiler.importer.suffixes import MODELS, PROGRAMS


@pytest.mark.parametrize(
    ("suffix", "message"),
    [
        (".pte", "not an ExecuTorch program"),
        (".tflite", "not a TensorFlow Lite program"),
        (".bin", "not an ExecuTorch program"),
    ],
)
def test_a_suffix_names_the_reader(suffix: str, message: str) -> None:
    with pytest.raises(InvalidProgram, match=message):
        parse(b"garbage, and more of it", suffix)


def test_programs_are_models() -> None:
    assert set(PROGRAMS) < set(MODELS)
