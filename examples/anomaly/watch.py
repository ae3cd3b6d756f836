"""Runs the network on a simulated board: how far its outputs are from normal and worn machines."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from net import spectra

import cmbuild


def errors(is_worn: bool) -> np.ndarray:
    """Mean squared error of each of eight spectra, as the board computes them."""
    inputs = spectra(8, torch.Generator().manual_seed(7), is_worn).numpy()
    with TemporaryDirectory() as place:
        file, outputs = Path(place) / "spectra.npy", Path(place) / "outputs"
        np.save(file, inputs)
        cmbuild.run("anomaly", "mps2-an386", input=file, output_dir=outputs)
        files = sorted(outputs.rglob("*.npy"))
        computed = np.concatenate([np.load(each).reshape(-1) for each in files])
    return np.mean((computed.reshape(inputs.shape) - inputs) ** 2, axis=1)


if __name__ == "__main__":
    normal, worn = errors(is_worn=False), errors(is_worn=True)
    limit = 2 * normal.max()
    print(f"normal: {normal.max():.4f} at most; limit {limit:.4f}")
    print(f"worn:   {worn.min():.4f} at least; {(worn > limit).sum()} of {len(worn)} noticed")
