"""Subgraphs and their calls: what their indices may be."""

from __future__ import annotations

import pytest
from harness.tflite_file import unknown_file

from cmcompiler.errors import InvalidProgram
from cmcompiler.pte.flatbuffer import FlatBuffer, TableReader
from cmcompiler.tflite.schema import ModelTable
from cmcompiler.tflite.subgraphs import Frame, Operator


def main_subgraph() -> TableReader:
    """One of three tensors."""
    root = FlatBuffer(memoryview(unknown_file())).root
    return next(iter(root.tables(ModelTable.SUBGRAPHS)))


@pytest.mark.parametrize("index", [-1, 3])
def test_a_tensor_that_does_not_exist_is_invalid(index: int) -> None:
    frame = Frame.of(main_subgraph())
    assert frame.checked((0, 2), "input") == (0, 2)
    with pytest.raises(InvalidProgram, match=f"input of the program is tensor {index} of 3"):
        frame.checked((0, index), "input")


@pytest.mark.parametrize("results", [(), (-1,), (0, 1)])
def test_an_operator_of_one_result_has_one(results: tuple[int, ...]) -> None:
    operator = Operator("VAR_HANDLE #0", main_subgraph(), (), results)
    with pytest.raises(InvalidProgram, match=f"VAR_HANDLE #0 has {len(results)} results, not 1"):
        operator.only(results)
