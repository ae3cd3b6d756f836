"""Small `.tflite` programs of one operator each, for comparison with TensorFlow Lite Micro."""

from __future__ import annotations

from collections.abc import Iterator

from harness import (  # noqa: F401 - they register their programs
    tflite_float_calls,
    tflite_function_calls,
    tflite_layer_calls,
    tflite_movement_calls,
)
from harness.tflite_maker import CASES, Maker, TfliteCall


def tflite_names() -> list[str]:
    return list(CASES)


def tflite_call(name: str, samples: int = 2) -> TfliteCall:
    """One program; the same in every process."""
    build, arguments = CASES[name]
    maker = Maker(name)
    build(maker, **arguments)
    return maker.made(name, samples)


def tflite_calls(samples: int = 2) -> Iterator[TfliteCall]:
    return (tflite_call(name, samples) for name in CASES)
