#!/usr/bin/env python3
"""Random `.tflite` programs of int16 activations and weights of four bits, beside other runtimes.

    python benchmarks/tflite_random.py [--seed N] [--programs N]

Draws programs of one operator: its shapes, windows, fused functions and scales. Each runs in the
reference and in TensorFlow Lite Micro, on two random samples; where Micro refuses weights of four
bits, with the same numbers as int8. What it refuses runs in LiteRT. Prints how many are equal, and
what is not. Needs PyPI's tflite-micro and ai-edge-litert.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "data" / "tflite"))

from harness.tflite_file import TfliteFile
from harness.tflite_maker import CASES, NONE, RELU, RELU6, RELU_N1_TO_1, SAME, VALID, TfliteCall
from harness.tflite_narrow import NarrowMaker, ShortNarrowMaker
from harness.tflite_short import ShortMaker
from make import outputs_from_zero, outputs_of_litert

from cmcompiler.errors import CompilerError
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.tflite.reader import read_tflite

_KINDS = {"int16": ShortMaker, "int4": NarrowMaker, "int16, int4": ShortNarrowMaker}
_ACTIVATIONS = NONE, RELU, RELU_N1_TO_1, RELU6

Random = np.random.Generator
Options = dict[str, Any]


def _pair(random: Random, least: int, most: int) -> tuple[int, int]:
    return int(random.integers(least, most + 1)), int(random.integers(least, most + 1))


def _one_of(random: Random, *choices: Any) -> Any:
    return choices[random.integers(len(choices))]


def _window(random: Random, size: tuple[int, int]) -> Options:
    return {
        "padding": _one_of(random, SAME, VALID),
        "stride": _pair(random, 1, 3),
        "size": size,
        "activation": _one_of(random, *_ACTIVATIONS),
    }


def _convolution(random: Random) -> Options:
    kernel, dilation = _pair(random, 1, 5), _pair(random, 1, 3)
    group, groups = int(random.integers(1, 40)), _one_of(random, 1, 1, 1, 2, 3)
    extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    window = _window(random, tuple(n + int(random.integers(0, 7)) for n in extent))
    plain = max(window["stride"]) == 1
    return {
        **window,
        "kernel": kernel if plain or max(extent) <= 5 else (1, 1),
        "dilation": dilation if plain else (1, 1),
        "channels": group * groups,
        "group": group if groups > 1 else None,
        "filters": groups * int(random.integers(1, 12)),
        "per_channel": bool(random.integers(4)),
        "bias": bool(random.integers(4)),
    }


def _depthwise(random: Random) -> Options:
    window = _window(random, _pair(random, 5, 12))
    plain = max(window["stride"]) == 1
    return {
        **window,
        "dilation": _pair(random, 1, 2) if plain else (1, 1),
        "channels": int(random.integers(1, 40)),
        "multiplier": _one_of(random, 1, 1, 1, 2, 3),
    }


def _linear(random: Random) -> Options:
    depth = int(random.integers(1, 300))
    keep = bool(random.integers(2))
    return {
        "shape": (*_pair(random, 1, 4), depth) if keep else (int(random.integers(1, 6)), depth),
        "depth": depth,
        "keep": keep,
        "bias": bool(random.integers(4)),
        "per_channel": bool(random.integers(2)),
        "activation": _one_of(random, *_ACTIVATIONS),
    }


def _transposed(random: Random) -> Options:
    stride, kernel = _pair(random, 1, 3), _pair(random, 1, 4)
    return {
        "size": _pair(random, 4, 12),
        "stride": stride,
        "kernel": kernel,
        "padding": _one_of(random, SAME, VALID),
        "bias": bool(random.integers(2)),
    }


def _operands(random: Random) -> Options:
    shape = (1, *_pair(random, 1, 6), int(random.integers(1, 20)))
    right = _one_of(random, shape, (shape[-1],), (1, shape[1], 1, 1), (1, 1, 1, shape[3]))
    activation = _one_of(random, *_ACTIVATIONS)
    return {"left": shape, "right": right, "activation": activation}


def _fused(random: Random) -> Options:
    right = _one_of(random, (1, 3, 4, 5), (5,), (1, 3, 1, 1), (4, 5), (1, 1, 1, 1))
    return {"right": right, "activation": _one_of(random, *_ACTIVATIONS)}


def _squares(random: Random) -> Options:
    right = _one_of(random, (1, 3, 4, 5), (5,), (1, 1, 1, 1))
    left, other = np.exp(random.uniform(-4, -1, 2))
    return {"right": right, "scales": (left, other), "scale": np.exp(random.uniform(-2, 2))}


def _rows(random: Random) -> Options:
    return {
        "shape": (int(random.integers(1, 6)), int(random.integers(2, 300))),
        "beta": _one_of(random, 1.0, 1.0, random.uniform(0.2, 3)),
        "scale": np.exp(random.uniform(-5, 0)),
    }


def _mean(random: Random) -> Options:
    axes = _one_of(random, (1, 2), (1,), (2,), (3,), (1, 3), (-1,), (2, 3))
    name = _one_of(random, "MEAN", "MEAN", "SUM")
    scale = np.exp(random.uniform(-4, -1)) * (8 if name == "SUM" else 1)
    return {"axes": axes, "name": name, "keep_dims": bool(random.integers(2)), "scale": scale}


def _product(random: Random) -> Options:
    rows, depth, columns, batch = (int(n) for n in random.integers(1, 40, 4))
    return {
        "adj_x": bool(random.integers(2)),
        "adj_y": bool(random.integers(2)),
        "left": (batch, rows, depth),
        "right": (batch, depth, columns),
    }


def _cells(random: Random) -> Options:
    return {
        "time_major": bool(random.integers(2)),
        "clip": _one_of(random, 10.0, random.uniform(0.5, 4)),
        "cell": _one_of(random, 2**-12, 2**-11, 2**-10),
        "steps": int(random.integers(1, 12)),
        "features": int(random.integers(1, 30)),
        "units": int(random.integers(1, 24)),
        "batch": int(random.integers(1, 3)),
    }


def _slopes(random: Random) -> Options:
    shape = _one_of(random, (1, 1, 6), (1, 1, 1), (4, 8, 6), (4, 1, 1))
    return {"shape": shape, "scale": np.exp(random.uniform(-6, -3))}


def _curve(random: Random) -> Options:
    return {"scale": np.exp(random.uniform(-6, 0))}


_LAYERS: Mapping[str, Callable[[Random], Options]] = {
    "conv_2d": _convolution,
    "depthwise_conv_2d": _depthwise,
    "fully_connected": _linear,
}
_OTHERS: Mapping[str, Callable[[Random], Options]] = {
    "transpose_conv": _transposed,
    "average_pool_2d": lambda random: _window(random, _pair(random, 4, 12)),
    "max_pool_2d": lambda random: _window(random, _pair(random, 4, 12)),
    "add": _operands,
    "sub": _fused,
    "mul": _fused,
    "squared_difference": _squares,
    "softmax": _rows,
    "reduction": _mean,
    "batch_matmul": _product,
    "unidirectional_sequence_lstm": _cells,
    "prelu": _slopes,
    "logistic": _curve,
}
_BUILDERS = {build.__name__: build for build, _ in CASES.values()}
_FREE = 0.07, -5
"""Scale and zero point of results that no operator fixes."""


def drawn(seed: int, *, is_wide: bool = False) -> TfliteCall:
    """A program; its name says what it is.

    Args:
        is_wide: store weights of four bits as int8.
    """
    random = np.random.default_rng(seed)
    kind = list(_KINDS)[seed % len(_KINDS)]
    layers = _LAYERS if "int4" in kind else {**_LAYERS, **_OTHERS}
    name = list(layers)[random.integers(len(layers))]
    options, factor = layers[name](random), np.exp(random.uniform(-1.5, 2.5))

    class Scaled(_KINDS[kind]):  # type: ignore[misc]
        def result(self, shape: Any, scale: Any = None, zero_point: Any = None, **more: Any) -> Any:
            if scale is None:
                scale, zero_point = _FREE[0] * factor, _FREE[1]
            return super().result(shape, scale, zero_point, **more)

    maker = Scaled(f"{seed} {name}")
    if kind != "int4":
        maker.finer *= np.exp(random.uniform(-1, 1))
    if is_wide:
        maker.file = TfliteFile()
    _BUILDERS[name](maker, **options)
    return maker.made(f"#{seed} {kind} {name} {options}", samples=2)


def outcome(seed: int) -> tuple[str, str]:
    """A program's agreement with other runtimes, and its name with the figures of a difference."""
    call = drawn(seed)
    try:
        graph = build_graph(read_tflite(call.data))
        own = [row.outputs for row in evaluate_all(graph, call.samples, reset=True)]
    except CompilerError as error:
        return "refused", f"{call.name}: {error.message}"
    for runtime, run in _RUNTIMES.items():
        known = _answers(run, seed)
        if known is None:
            continue
        for name, array in known.items():
            _, number, index = name.rsplit(".", 2)
            apart = np.abs(own[int(number)][int(index)].astype(np.int64) - array)
            if apart.any():
                figures = f"{np.count_nonzero(apart)} of {apart.size}, by up to {apart.max()}"
                return f"unlike {runtime}", f"{call.name}: {figures}"
        return f"as {runtime}", call.name
    return "refused by the others", call.name


def _answers(run: Callable[[int], dict[str, Any]], seed: int) -> dict[str, Any] | None:
    """A runtime's outputs; None if it refuses the program, or dies of it."""
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        try:
            return pool.submit(run, seed).result()
        except Exception:  # Micro raises RuntimeError, LiteRT others; some kernels abort
            return None


def _micro(seed: int) -> dict[str, Any]:
    return outputs_from_zero(drawn(seed))


def _wide(seed: int) -> dict[str, Any]:
    return outputs_from_zero(drawn(seed, is_wide=True))


def _litert(seed: int) -> dict[str, Any]:
    return outputs_of_litert(drawn(seed))


_RUNTIMES = {"Micro": _micro, "Micro with int8": _wide, "LiteRT": _litert}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the first program")
    parser.add_argument("--programs", type=int, default=300, metavar="N")
    options = parser.parse_args()
    counted: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.programs):
        what, told = outcome(seed)
        counted[what] += 1
        if not what.startswith("as "):
            print(f"{what}: {told}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in counted.most_common()))


if __name__ == "__main__":
    main()
