"""What a run says of a program's accuracy."""

from __future__ import annotations

import numpy as np
import pytest
from harness.commands import Commands


def test_two_bad_calibration_samples_warn_with_both_accuracies(cmbuild: Commands) -> None:
    random = np.random.default_rng(0)
    np.save(cmbuild.folder / "dim.npy", random.random((2, 1, 1, 8, 8), np.float32) / 20)
    words = ("run", "digits", "--board", "native", "--calibration", "dim.npy")
    run = cmbuild(*words, "--json")
    assert run.exit_code == 0, run.stderr
    accuracy = run.document["accuracy"]
    assert (accuracy["metric"], accuracy["samples"], accuracy["device"]) == ("top-1", 360, None)
    assert accuracy["float"] > 0.95
    assert accuracy["reference"] < 0.5
    assert run.document["fidelity"]["snr_db"] < 10
    shown = cmbuild(*words, "-n", "50")
    assert shown.exit_code == 0
    first, second = shown.stdout.split("✓ verified")[1].splitlines()[:2]
    assert "bit-exact; faithful: 8 of 8 layers" in first
    assert run.document["faithful"] is True
    layers = run.document["fidelity"]["layers"]
    assert all(layer["error_steps"] <= layer["bound_steps"] for layer in layers)
    assert second.startswith("  accuracy  float ")
    assert ", on the device " in second
    assert "! quantisation costs accuracy: float " in shown.stdout
    assert "! calibrated on 2 samples (dim.npy)" in shown.stdout
    assert "of the samples' input input_0 is outside of the calibrated range" in shown.stdout

    both = cmbuild("eval", *words[1:], "-n", "50", "--json")
    assert both.exit_code == 0, both.stderr
    assert (both.document["board"], both.document["samples"]) == ("native", 50)
    forms = {form["form"]: form for form in both.document["forms"]}
    assert list(forms) == ["float", "fake-quantised", "reference", "device"]
    assert forms["float"]["accuracy"] > 0.9
    assert forms["fake-quantised"]["accuracy"] < 0.5
    assert forms["reference"] | {"form": "device"} == forms["device"]
    alone = cmbuild("eval", "digits", "--calibration", "dim.npy")
    assert alone.exit_code == 0
    assert "  digits on 360 samples\n" in alone.stdout
    assert "! quantisation costs accuracy: float " in alone.stdout
    assert "  device " not in alone.stdout


NETS = """
import torch
from torch import nn


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 8)

    def forward(self, x):
        y = self.first(x)
        return {"large": 1000 * y, "small": torch.frac(40 * y)}


class Checked(nn.Sequential):
    def forward(self, x):
        if not torch.compiler.is_exporting() and x.isnan().any():
            raise ValueError("not a number")
        return super().forward(x)


def one():
    torch.manual_seed(0)
    return Checked(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4)), torch.rand(1, 16)


def two():
    torch.manual_seed(0)
    return Two(), torch.rand(1, 16), [torch.randn(1, 16) for _ in range(16)]
"""


@pytest.fixture
def nets(cmbuild: Commands) -> Commands:
    (cmbuild.folder / "nets.py").write_text(NETS)
    random = np.random.default_rng(0)
    np.save(cmbuild.folder / "given.npy", random.random((40, 1, 16), np.float32))
    return cmbuild


def test_calibration_inputs_that_do_not_calibrate_judge_rather_than_made_up_ones(
    nets: Commands,
) -> None:
    words = ("run", "nets.py:one", "--board", "native", "--calibration", "given.npy")
    run = nets(*words, "--json", "--html", "run.html").document["fidelity"]
    assert (run["inputs"], run["detail"]) == ("calibration", "held out")
    assert (run["samples"], run["sequence"], run["agreement"]) == (10, None, 1)
    assert "calibration inputs, held out" in (nets.folder / "run.html").read_text()


@pytest.mark.long
def test_given_inputs_judge_if_the_float_model_computes_them(nets: Commands) -> None:
    words = ("run", "nets.py:one", "--board", "native", "--calibration", "given.npy")
    random = np.random.default_rng(1)
    inputs = random.random((3, 1, 16), np.float32)
    np.save(nets.folder / "few.npy", inputs)
    given = nets(*words, "--input", "few.npy", "--json").document["fidelity"]
    assert (given["inputs"], given["samples"], given["agreement"]) == ("input", 3, 1)
    assert given["snr_db"] > 30
    inputs[1] = np.nan
    np.save(nets.folder / "few.npy", inputs)
    failed = nets(*words, "--input", "few.npy", "--json").document
    reason = "sample 2: ValueError: not a number"
    assert f"the float model did not compute the given inputs: {reason}" in failed["warnings"]
    assert failed["fidelity"]["inputs"] == "calibration"

    labels = random.integers(0, 4, 60)
    inputs = random.random((60, 1, 16), np.float32)
    np.savez(nets.folder / "data.npz", input_0=inputs, labels=labels)
    both = nets("eval", *words[1:], "--data", "data.npz", "--json").document
    assert both["inputs"] == "data"
    real, *others = both["forms"]
    assert (real["form"], real["interval"][0] < real["accuracy"]) == ("float", True)
    assert all(abs(form["accuracy"] - real["accuracy"]) < 0.1 for form in others)


def test_each_output_is_judged_by_itself_and_the_worst_warns(nets: Commands) -> None:
    run = nets("run", "nets.py:two", "--no-refinement", "--board", "native", "--json").document
    figures = run["fidelity"]
    assert (figures["inputs"], figures["agreement"]) == ("calibration", None)
    large, small = figures["outputs"]
    assert (large["name"], small["name"]) == ("large", "small")
    assert figures["snr_db"] > 30 > small["snr_db"] + 10
    assert (
        f"output small: SNR {small['snr_db']:.1f} dB against float: below 20 dB"
        in (run["warnings"])
    )
    coarsest = figures["coarsest"]
    resolutions = [each["resolution_db"] for each in figures["layers"] if each["resolution_db"]]
    assert coarsest["snr_db"] == min(resolutions)
    below = nets("run", "nets.py:two", "--no-refinement", "--board", "native", "--min-snr", "20")
    assert below.exit_code == 1
    assert f"{small['snr_db']:.3g} dB against float" in below.stderr
    both = nets("eval", "nets.py:two", "--no-refinement", "--min-snr", f"{coarsest['snr_db'] + 1}")
    assert both.exit_code == 1
    assert f"{coarsest['name']} at nets.py:{coarsest['line']} keeps " in both.stderr
    assert f"  try: {coarsest['remedy']}\n" in both.stderr


def test_a_program_has_no_float_model_to_compare(cmbuild: Commands) -> None:
    result = cmbuild("eval", "net.pte")
    assert result.exit_code == 2
    assert "net.pte is a program, without a float model to compare" in result.stderr


RESTS = """
import torch


class Rests(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.other = torch.nn.Linear(16, 8), torch.nn.Linear(16, 8)

    def forward(self, x):
        y = self.first(x)
        return torch.fmod(y, self.other(x))


def model():
    torch.manual_seed(0)
    return Rests(), torch.rand(1, 16), [torch.rand(1, 16) for _ in range(8)]
"""


def test_float_is_never_silent(cmbuild: Commands) -> None:
    (cmbuild.folder / "net.py").write_text(RESTS)
    words = ("net.py", "--board", "microbit")
    run = cmbuild("run", *words, "--json", "--max-float", "90%")
    document = run.document["float"]
    assert document["estimated"] is False
    assert 0.2 < document["share"] < 1
    (call,) = (each for each in document["operators"] if each["name"] == "fmod")
    assert call["file"] == str(cmbuild.folder / "net.py")
    assert call["line"] == 12
    assert call["reason"]
    assert call["hint"]
    share = f"{document['share']:.0%}".replace("%", " %")
    over = cmbuild("run", *words, "--max-float", "0%")
    assert over.exit_code == 1
    assert f"in float: {share} of instructions; the core has no FPU" in over.stdout
    assert "fmod  net.py:12  " in over.stdout
    assert f"in float: {share} of instructions, more than 0%" in over.stderr
    built = cmbuild("build", *words, "--max-float", "0%", "--json")
    assert built.exit_code == 1
    assert built.document["float"]["operators"][0]["line"] == 12
    packed = cmbuild("package", "net.py", "--target", "cortex-m0plus", "--max-float", "0%")
    assert packed.exit_code == 1
    assert "of instructions, estimated; the core has no FPU" in packed.stdout
