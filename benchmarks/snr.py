#!/usr/bin/env python3
"""What activations and weights of each type keep of small networks, in dB.

    python benchmarks/snr.py [NETWORK]...

Every network of precise_networks.py is exported with int8, with int16 activations, and with
weights of 16 bits, too. The reference computes each program on the inputs that calibrated it and,
behind the slash, on 24 that nothing has seen. `alone` is the float model with each weight of int16
activations rounded by itself, and nothing else.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent))

from cmcompiler import api
from cmcompiler.frontend.layouts import channels_last
from cmcompiler.frontend.precision import everywhere
from cmcompiler.frontend.preparation import prepare
from cmcompiler.frontend.sensitivity import snr
from cmcompiler.frontend.short_rounding import short_layers
from cmcompiler.frontend.simulation import Simulation

networks: Any = importlib.import_module("precise_networks")

Inputs = Sequence[tuple[Tensor]]

TYPES = {"int8": ("int8", "int8"), "8w16a": ("int16", "int8"), "16w16a": ("int16", "int16")}
"""Activations and weights of each column."""


@torch.no_grad()
def ratio(module: nn.Module, compiled: api.Compiled, inputs: Inputs) -> float:
    made = api.reference(compiled, [tuple(x.numpy() for x in row) for row in inputs])
    return snr([module(*row) for row in inputs], [torch.from_numpy(row[0]) for row in made])


@torch.no_grad()
def alone(module: nn.Module, calibration: Inputs, *judged: Inputs) -> Iterator[float]:
    """With the weights rounded by themselves, and everything else in float."""
    patterns = everywhere("int16")
    prepared = prepare(module, calibration[0], calibration, refinement=False, precision=patterns)
    layers = list(short_layers(prepared.graph))
    for inputs in judged:
        samples = [(*map(channels_last, row), *prepared.states) for row in inputs]
        results = []
        for is_rounded in (False, True):
            for layer in layers:
                layer.round_alone() if is_rounded else layer.restore()
            rows = Simulation(prepared.graph).run_on(samples, rounding=False)
            results.append([row[0] for row in rows])
        yield snr(*results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*")
    options = parser.parse_args()
    print(f"| network | {' | '.join(TYPES)} | alone |")
    print("| --- |" + " ---: |" * (len(TYPES) + 1))
    for name in options.networks or networks.NAMES:
        module, calibration, unseen = getattr(networks, name)()
        cells = []
        for activations, weights in TYPES.values():
            compiled = api.compile(
                module, calibration[0], calibration, activations=activations, weights=weights
            )
            cells.append([ratio(module, compiled, each) for each in (calibration, unseen)])
        cells.append(list(alone(module, calibration, calibration, unseen)))
        row = [" / ".join(f"{each:.1f}" for each in cell) for cell in cells]
        print(f"| {name} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
