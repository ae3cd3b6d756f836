"""Models of other kinds are refused in one line that says how to convert them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from harness.tflite_calls import tflite_names
from harness.tflite_file import TfliteFile, linear_file
from harness.tflite_short import short_call

from cmcompiler.errors import Unsupported, WrongType
from cmcompiler.importer.build import build_graph
from cmcompiler.tflite.reader import read_tflite


@pytest.mark.parametrize(
    ("activations", "weights", "message"),
    [
        (np.float32, np.float32, "float models are not supported: FULLY_CONNECTED #0"),
        (np.float16, np.float16, "float models are not supported: FULLY_CONNECTED #0"),
        (np.float32, np.int8, r"dynamic-range \(hybrid\) models are not supported"),
        (np.uint8, np.uint8, "uint8 models, of TensorFlow 1, are not supported"),
    ],
)
def test_a_kind_is_refused_by_its_name(
    activations: npt.DTypeLike, weights: npt.DTypeLike, message: str
) -> None:
    with pytest.raises(Unsupported, match=message) as refused:
        build_graph(read_tflite(linear_file(activations, weights)))
    assert "representative_dataset" in (refused.value.hint or "")


def test_a_float_operator_among_integers_is_refused() -> None:
    file = TfliteFile()
    source, out = file.tensor((1, 4), np.float32), file.tensor((1, 4), np.float32)
    file.operator("LOGISTIC", (source,), (out,))
    with pytest.raises(Unsupported, match="float operators are not supported: LOGISTIC #0"):
        build_graph(read_tflite(file.write((source,), (out,))))


@pytest.mark.parametrize("dtype", [np.int8, np.int16])
@pytest.mark.parametrize("name", ["NEG", "SIN", "COS", "SIGN", "FLOOR", "CEIL", "ROUND", "SQUARE"])
def test_functions_of_floats_alone_do_not_ask_for_a_conversion(
    name: str, dtype: npt.DTypeLike
) -> None:
    file = TfliteFile()
    source, out = file.tensor((1, 4), dtype, scale=0.5), file.tensor((1, 4), dtype, scale=0.5)
    file.operator(name, (source,), (out,))
    with pytest.raises(WrongType, match=f"input is {np.dtype(dtype).name}, not float32") as refused:
        build_graph(read_tflite(file.write((source,), (out,))))
    assert "for floats alone" in (refused.value.hint or "")


def test_operators_that_int16_has_not_say_how_to_convert() -> None:
    refused = set()
    for name in tflite_names():
        try:
            build_graph(read_tflite(short_call(name, samples=1).data))
        except WrongType as error:
            assert "int16" in error.message and "\n" not in error.message, name
            assert "TFLITE_BUILTINS_INT8" in (error.hint or ""), name
            refused.add(error.message.partition("::")[2].partition(" ")[0])
    assert {"ELU", "HARD_SWISH", "SVDF"} < refused
