"""Options of the functions, for type checkers and editors; generated from the requests.

`./cmbuildw test tests/cmbuild/api/test_options.py --rewrite` writes this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict

PathLike = str | Path


class BuildOptions(TypedDict, total=False):
    """Options of `build` and `fit`: those of `cmbuild build`."""

    isa: str | None
    toolchain: str | None
    seed: int
    weights: PathLike | None
    calibration: PathLike | None
    activations: Literal["int8", "int16"] | None
    no_refinement: bool
    portable: bool
    keep_state: bool
    intermediates: PathLike | None
    force: bool
    snr: float | None
    accuracy_drop: str | None
    flash_budget: str | None
    precision: Sequence[tuple[str, str]]
    weight_type: str | None
    method: str
    io: Literal["program", "int8", "uint8", "int16"] | None
    feed: Literal["whole", "rows", "again"] | None
    no_streams: bool
    ram_budget: str | None
    weights_as: Literal["int8", "int16"] | None
    hot: Literal["auto", "code", "off"]
    executor: Literal["static", "executorch"]
    executorch_root: PathLike | None
    build_dir: PathLike


class RunOptions(BuildOptions, total=False):
    """Options of `run` and `sweep`: those of `cmbuild run`."""

    samples: int | Literal["all"] | None
    inputs: PathLike | Sequence[PathLike]
    input: PathLike | Sequence[PathLike]
    output_dir: PathLike | None
    reset: bool
    max_float: str | None
    min_snr: float | None
    launcher: str | None
    on: str
    volume: PathLike | None
    probe: str | None
    port: str | None
    flash_method: str | None
    dry_run: bool
    timeout: float | None


class PackageOptions(TypedDict, total=False):
    """Options of `package`: those of `cmbuild package`."""

    seed: int
    weights: PathLike | None
    calibration: PathLike | None
    activations: Literal["int8", "int16"] | None
    no_refinement: bool
    portable: bool
    keep_state: bool
    intermediates: PathLike | None
    force: bool
    snr: float | None
    accuracy_drop: str | None
    flash_budget: str | None
    precision: Sequence[tuple[str, str]]
    weight_type: str | None
    form: Literal["source", "arduino", "platformio", "zephyr", "mlperf-tiny"]
    board: str | None
    constants: Literal["binary", "c"]
    name: str | None
    target: str
    isa: str | None
    method: str
    io: Literal["program", "int8", "uint8", "int16"] | None
    feed: Literal["whole", "rows", "again"] | None
    no_streams: bool
    ram_budget: str | None
    weights_as: Literal["int8", "int16"] | None
    samples: int | Literal["all"] | None
    inputs: PathLike | Sequence[PathLike]
    input: PathLike | Sequence[PathLike]
    reset: bool
    max_float: str | None
    build_dir: PathLike


class EvaluateOptions(TypedDict, total=False):
    """Options of `evaluate`: those of `cmbuild eval`."""

    seed: int
    weights: PathLike | None
    calibration: PathLike | None
    activations: Literal["int8", "int16"] | None
    no_refinement: bool
    portable: bool
    keep_state: bool
    intermediates: PathLike | None
    force: bool
    snr: float | None
    accuracy_drop: str | None
    flash_budget: str | None
    precision: Sequence[tuple[str, str]]
    weight_type: str | None
    isa: str | None
    toolchain: str | None
    samples: int | Literal["all"] | None
    on: str
    min_snr: float | None
    build_dir: PathLike
    chunk: int
    resume: bool
