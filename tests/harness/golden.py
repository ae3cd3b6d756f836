"""The golden set: programs with inputs and the outputs of ExecuTorch's own runtime."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cmcompiler.decode.registry import operators

Array = npt.NDArray[Any]

VARIABLE = "CMBUILD_GOLDEN"

SENSELESS = {
    "upstream_extra.extra.portable_int8.cond",
    "own.act_hardswish",
    "own.act4d_hardswish",
}
"""Not runnable: the quantizer dequantizes the float result of a branch, or passes int8 without
scales to hardswish.
"""


@dataclass(frozen=True)
class Sample:
    """Inputs and right outputs, in logical shapes; no outputs if upstream computes none.

    Attributes:
        also: per output, alternative elements that are equally right: from the other of
            ExecuTorch's runtime and Python dialect, where the set's README prefers neither.
    """

    kind: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    also: tuple[Array, ...]


@dataclass(frozen=True)
class Golden:
    """A case of the set.

    Attributes:
        data: the `.pte`.
        failed: ExecuTorch's runtime rejects it; the outputs come from its Python dialect.
    """

    name: str
    data: bytes
    operators: frozenset[str]
    samples: tuple[Sample, ...]
    failed: bool

    @property
    def is_known(self) -> bool:
        """All its operators have readers, and the program has a meaning."""
        return self.operators <= operators().keys() and self.name not in SENSELESS


def folder() -> Path:
    """The set's folder: $CMBUILD_GOLDEN, or shared/golden beside the checkout; else skips.

    Raises:
        AssertionError: not found where the variable points.
    """
    beside = Path(__file__).parents[3] / "shared" / "golden"
    place = Path(os.environ.get(VARIABLE, beside))
    if not (place / "index.json").is_file():
        assert VARIABLE not in os.environ, f"{VARIABLE}: the golden set is not in {place}"
        pytest.skip(f"the golden set is not in {place}; {VARIABLE} tells where it is")
    return place


@cache
def golden() -> tuple[Golden, ...]:
    """The whole set."""
    files = [*sorted(folder().glob("cases/*.zip")), *sorted(folder().glob("failed/*.zip"))]
    return tuple(map(_read, files))


def _read(file: Path) -> Golden:
    failed = file.parent.name == "failed"
    with zipfile.ZipFile(file) as archive:
        case = json.loads(archive.read("case.json"))
        samples = []
        for number, sample in enumerate(case["sets"]):
            # On the M55, blocks of 16 fuse multiply and add, which changes ties; the other cores
            # are right.
            if sample["kind"] == "ties" and case["target"] == "cortex-m55" and not failed:
                continue
            inputs = tuple(_inputs(archive, case, number))
            dialect = failed or sample["verdict"] in ("wrong", "undefined")
            outputs = tuple(_outputs(archive, case, number, failed, "py" if dialect else "out"))
            second = "out" if dialect and not failed else "py"
            other = tuple(_outputs(archive, case, number, failed, second))
            also = tuple(
                np.where(_is_open(case, inputs, output), twin, output)
                for output, twin in zip(outputs, other, strict=True)
            )
            if outputs:  # some failed programs run nowhere in ExecuTorch
                samples.append(Sample(sample["kind"], inputs, outputs, also))
        return Golden(
            case["name"],
            archive.read("model.pte"),
            frozenset(case["operators"]),
            tuple(samples),
            failed,
        )


def _is_open(case: dict[str, Any], inputs: tuple[Array, ...], output: Array) -> Array:
    """The elements of an output for which the runtime's and the dialect's value may both be right.

    NaN quantises to the zero point, as in the runtime; the dialect casts it to 0. A float result
    that is quantised again may lie on a tie, which the M55's fused blocks round differently.
    """
    open_ = np.full(output.shape, case.get("reason") == "requantize_after_float")
    for array in inputs:
        if array.dtype.kind == "f" and array.shape == output.shape:
            open_ |= np.isnan(array)
    return open_


def _inputs(archive: zipfile.ZipFile, case: dict[str, Any], number: int) -> Iterator[Array]:
    for index, port in enumerate(case["inputs"]):
        if "dtype" in port:  # the others are numbers, baked into the program
            yield _logical(archive.read(f"in{number}_{index}.bin"), port, port["dim_order"])


def _outputs(
    archive: zipfile.ZipFile, case: dict[str, Any], number: int, failed: bool, origin: str
) -> Iterator[Array]:
    """Outputs of the runtime (`out`), or of the dialect (`py`), recorded only if different."""
    ports = case["sets"][number]["outputs"] if failed else case["outputs"]
    for index, port in enumerate(ports):
        order = range(len(port["shape"])) if failed else port["dim_order"]
        name = f"{origin}{number}_{index}.bin"
        if name not in archive.namelist():
            name = f"out{number}_{index}.bin"
        yield _logical(archive.read(name), port, order)


def _logical(data: bytes, port: dict[str, Any], order: Any) -> Array:
    """An array from its elements in physical `order`, outermost dimension first."""
    physical = np.frombuffer(data, port["dtype"]).reshape([port["shape"][axis] for axis in order])
    return np.array(physical.transpose(np.argsort(list(order))), order="C")
