"""Makes expected.npz: what TensorFlow Lite Micro computes for the programs of tflite_calls.

And int16.npz and int4.npz: the same for those of tflite_short and tflite_narrow.

Needs PyPI's tflite-micro and ai-edge-litert; `python tests/data/tflite/make.py` from the root.

Those of the LSTM are of CMSIS-NN's arm_lstm_unidirectional_s8 instead, which Micro calls on a
Cortex-M with zeroed states; its kernel for other machines computes other bits. This keeps them.
With int16 both compute the same, from zero.
Slices and functions that Micro lacks are LiteRT's, and layers of int16 with int4 weights.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from tflite_micro import runtime

HERE = Path(__file__).parent
CMSIS_NN = "unidirectional_sequence_lstm"
LITERT = ("entries", "function_exp", "function_gelu", "logarithm", "select_old", "sqrt", "tile")
SHORT_LITERT = ("resize_bilinear", "reduction_largest", "reduction_smallest")
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[2] / "compiler")]

from harness.tflite_calls import TfliteCall, tflite_calls  # noqa: E402
from harness.tflite_narrow import narrow_calls  # noqa: E402
from harness.tflite_short import short_call, short_names  # noqa: E402


def outputs(call: TfliteCall) -> dict[str, np.ndarray]:
    """Each output of each sample; its state is kept from sample to sample."""
    interpreter = runtime.Interpreter.from_bytes(call.data, arena_size=1 << 20)
    collected = {}
    for number, sample in enumerate(call.samples):
        for index, array in enumerate(sample):
            interpreter.set_input(array, index)
        interpreter.invoke()
        index = 0
        while True:
            try:
                array = interpreter.get_output(index)
            except (IndexError, ValueError):
                break
            collected[f"{call.name}.{number}.{index}"] = array.copy()
            index += 1
    return collected


def outputs_from_zero(call: TfliteCall) -> dict[str, np.ndarray]:
    """Each output of each sample, for which an interpreter starts from zero."""
    collected = {}
    for number, sample in enumerate(call.samples):
        (output,) = outputs(replace(call, samples=(sample,))).values()
        collected[f"{call.name}.{number}.0"] = output
    return collected


def outputs_of_litert(call: TfliteCall) -> dict[str, np.ndarray]:
    interpreter = Interpreter(model_content=call.data)
    interpreter.allocate_tensors()
    collected = {}
    for number, sample in enumerate(call.samples):
        for detail, array in zip(interpreter.get_input_details(), sample, strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        for index, detail in enumerate(interpreter.get_output_details()):
            collected[f"{call.name}.{number}.{index}"] = interpreter.get_tensor(detail["index"])
    return collected


def main() -> None:
    known = dict(np.load(HERE / "expected.npz"))
    listed = {name: array for name, array in known.items() if name.startswith(CMSIS_NN)}
    for call in tflite_calls():
        if call.name.startswith(CMSIS_NN):
            continue
        try:
            listed |= outputs_of_litert(call) if call.name.startswith(LITERT) else outputs(call)
        except Exception as error:
            print(call.name, "fails:", error)
    np.savez_compressed(HERE / "expected.npz", **listed)
    print(len(listed), "arrays")
    short: dict[str, np.ndarray] = {}
    for name in short_names():
        of_litert = name.startswith((*LITERT, *SHORT_LITERT))
        call = short_call(name)
        if name.startswith(CMSIS_NN):
            short |= outputs_from_zero(call)
        else:
            short |= (outputs_of_litert if of_litert else outputs)(call)
    np.savez_compressed(HERE / "int16.npz", **short)
    print(len(short), "arrays of int16")
    narrow: dict[str, np.ndarray] = {}
    for call in narrow_calls():
        narrow |= (outputs_of_litert if call.name.endswith("int16") else outputs)(call)
    np.savez_compressed(HERE / "int4.npz", **narrow)
    print(len(narrow), "arrays of int4")


if __name__ == "__main__":
    main()
