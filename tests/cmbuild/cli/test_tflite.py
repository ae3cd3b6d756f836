"""A `.tflite` program through the commands: run, compared, packaged, and no torch anywhere."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from harness.commands import Commands
from harness.tflite_calls import tflite_call
from harness.tflite_truth import truth

from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.tflite.reader import read_tflite

EXPECTED = Path(__file__).parents[2] / "data" / "tflite" / "expected.npz"
NO_TORCH = "raise ImportError('a .tflite needs no torch')\n"


@pytest.fixture
def without_torch(cmbuild: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Commands that fail if anything imports torch."""
    hidden = cmbuild.folder / "hidden"
    hidden.mkdir()
    for name in ("torch", "executorch"):
        (hidden / f"{name}.py").write_text(NO_TORCH)
    path = os.pathsep.join(filter(None, (str(hidden), os.environ.get("PYTHONPATH"))))
    monkeypatch.setenv("PYTHONPATH", path)
    return cmbuild


@pytest.mark.parametrize("board", ["native", "corstone300"])
def test_a_run_computes_the_bytes_of_micro(without_torch: Commands, board: str) -> None:
    call = tflite_call("conv_2d_strided")
    folder = without_torch.folder
    (folder / "conv.tflite").write_bytes(call.data)
    np.save(folder / "input.npy", call.samples[0][0])
    words = ("--board", board, "--input", "input.npy", "--output-dir", "out", "--json")
    result = without_torch("run", "conv.tflite", *words)
    assert result.exit_code == 0, result.stderr
    assert (result.document["verified"], result.document["rule"]) == (True, "exact")
    assert result.document["lacking"] == []
    known = np.load(EXPECTED)["conv_2d_strided.0.0"]
    np.testing.assert_array_equal(np.load(folder / "out" / "output_0.npy"), known)


def test_two_models_are_compared_side_by_side(without_torch: Commands) -> None:
    for folder, name in (("old", "conv_2d_same"), ("new", "conv_2d_strided")):
        path = without_torch.folder / folder / "net.tflite"
        path.parent.mkdir()
        path.write_bytes(tflite_call(name).data)
    words = ("old/net.tflite", "new/net.tflite", "--board", "native", "--io", "uint8")
    result = without_torch("compare", *words, "--json")
    assert result.exit_code == 0, result.stderr
    (run,) = result.document["runs"]
    arena = next(each for each in run["metrics"] if each["metric"] == "arena")
    assert arena["before"] and arena["after"] and arena["before"] != arena["after"]
    assert {path.name for path in (without_torch.folder / "build").iterdir()} >= {"net", "other"}
    (without_torch.folder / "net.py").write_text("def make():\n    return None\n")
    result = without_torch("compare", words[0], "net.py:make", *words[2:4])
    failure = "the model on native in net.py:make (after): exporting: a .tflite needs no torch"
    assert (result.exit_code, result.stderr) == (1, f"error: {failure}\n")


def test_a_trained_program_is_packaged_with_the_bytes_of_micro(without_torch: Commands) -> None:
    known = truth("micro_speech")
    shutil.copyfile(known.path, without_torch.folder / "speech.tflite")
    np.savez(without_torch.folder / "in.npz", input_0=known.inputs[:, None])
    words = ("--as", "source", "--target", "cortex-m4", "--input", "in.npz", "-n", "8")
    result = without_torch("package", "speech.tflite", *words, "-o", "speech", "--json")
    assert result.exit_code == 0, result.stderr
    written = b"".join(
        path.read_bytes() for path in (without_torch.folder / "speech").rglob("*") if path.is_file()
    )
    outputs = next(iter(known.outputs.values()))
    assert outputs.tobytes() in written


PROJECT = """\
[models.kws]
source = "kws.tflite"
"""


def test_labels_are_counted_by_the_name_in_a_project(without_torch: Commands) -> None:
    call = tflite_call("fully_connected_flattened", samples=4)
    folder = without_torch.folder
    (folder / "kws.tflite").write_bytes(call.data)
    (folder / "cmbuild.toml").write_text(PROJECT)
    graph = build_graph(read_tflite(call.data))
    outputs = [result.outputs[0] for result in evaluate_all(graph, call.samples)]
    labels = np.concatenate(outputs).argmax(axis=1)
    labels[0] = (labels[0] + 1) % 7
    inputs = np.stack([sample[0] for sample in call.samples])
    np.savez(folder / "data.npz", input_0=inputs, labels=labels)
    words = ("eval", "kws", "--data", "data.npz", "--board", "native", "--json")
    result = without_torch(*words)
    assert result.exit_code == 0, result.stderr
    forms = {form["form"]: form["accuracy"] for form in result.document["forms"]}
    assert forms == {"reference": 0.75, "device": 0.75}
