#!/usr/bin/env python3
"""The verdict on every layer of models: which are not the float model's, and what it costs.

    python benchmarks/faithful.py [--target CPU] [MODEL]...

By default the zoo with random weights and the models of tests/data/models; a MODEL is a name of the
zoo, FILE.py for all of its functions, or FILE.py:FUNCTION. Prints a line a model: faithful layers,
the SNR of each output, operators in float, the verdict's share of the export's processor time, the
layer that uses most of its bound, and the one that keeps least of its result. Exits with 1 if a
layer is not faithful or has no counterpart in the float graph.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from harness.sweep import examine, functions, of_the_repository

from cmcompiler.errors import CompilerError


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="cortex-m55")
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    models = list(of_the_repository())
    if options.models:
        files = [name for name in options.models if ".py" in name]
        models = [name for name in options.models if name not in files] + list(functions(files))
    faults, layers, seconds, comparing = 0, 0, 0.0, 0.0
    for model in models:
        try:
            examined = examine(model, options.target)
        except CompilerError as error:
            print(f"{model}: refused: {error.message}", flush=True)
            continue
        print(f"{model}: {examined}", flush=True)
        for fault in examined.faults:
            print(f"  ✗ {fault}", flush=True)
        faults += len(examined.faults)
        layers += len(examined.fidelity.layers)
        seconds += examined.seconds
        comparing += examined.comparing
    print(f"{len(models)} models, {layers} layers, {faults} faults")
    if seconds:
        print(f"the verdict takes {comparing / seconds:.1%} of {seconds:.0f} s of processor time")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
