"""What a run says of a program's accuracy."""

from __future__ import annotations

import numpy as np
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
    assert "match the int8 reference" in first
    assert second.startswith("  accuracy  float ")
    assert ", on the device " in second
    assert "! quantisation costs accuracy: float " in shown.stdout
    assert "! calibrated on 2 samples (dim.npy)" in shown.stdout
    assert "of the samples' input input_0 is outside of the calibrated range" in shown.stdout
