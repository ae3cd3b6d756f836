"""Whole exports of models: the verdict on each of their layers, and what it costs."""

from __future__ import annotations

import ast
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import process_time

import numpy as np
import torch

from cmcompiler.errors import CompilerError
from cmcompiler.frontend.export import Exporter
from cmcompiler.frontend.fidelity.record import ProgramFidelity
from cmcompiler.frontend.job import OUTPUTS, PROGRAM, SAMPLES, ExportJob
from cmcompiler.frontend.outputs import ModelOutputs
from cmcompiler.frontend.sensitivity import snr
from cmcompiler.frontend.vectors import Samples
from cmcompiler.frontend.weights import RANDOM
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.pte.reader import read_program
from cmcompiler.zoo import names

MODELS = Path(__file__).resolve().parents[1] / "data" / "models"

_JUDGING = 64
"""Samples that SNRs are measured on."""


@dataclass(frozen=True, slots=True)
class Examined:
    """An export.

    Attributes:
        snr_db: of each output.
        floats: operators left in float.
        seconds: of processor time, all in all.
        comparing: of these for the verdict.
    """

    fidelity: ProgramFidelity
    snr_db: tuple[float, ...]
    floats: int
    seconds: float
    comparing: float

    @property
    def faults(self) -> list[str]:
        """What is not as it must be: unfaithful layers, and those without a counterpart."""
        fidelity = self.fidelity
        faults = [] if fidelity.reason is None else [fidelity.reason]
        if fidelity.rewritten is not None:
            faults.append(str(fidelity.rewritten))
        faults += [str(layer) for layer in fidelity.layers if not layer.faithful]
        return faults + [f"unpaired {each}" for each in fidelity.unpaired]

    def __str__(self) -> str:
        layers = self.fidelity.layers
        most = max(layers, key=lambda layer: layer.used, default=None)
        coarsest = next(iter(self.fidelity.resolutions), None)
        parts = [
            f"{sum(layer.faithful for layer in layers)} of {len(layers)} layers",
            f"SNR {', '.join(f'{each:.1f}' for each in self.snr_db)} dB",
            f"{self.floats} in float",
            f"{self.comparing / self.seconds:.1%} of {self.seconds:.1f} s",
        ]
        if most is not None:
            parts.append(f"most {most.node} {most.error_steps:.2f} of {most.bound_steps:.2f}")
        if coarsest is not None:
            parts.append(f"coarsest {coarsest.node} {coarsest.snr_db:.1f} dB")
        parts += [f"stalled {each.node}" for each in self.fidelity.stalled]
        return "; ".join(parts)


class _Clock:
    """Processor time by step of an export."""

    def __init__(self) -> None:
        self.times: list[tuple[str, float]] = []

    def step(self, name: str) -> None:
        self.times.append((name, process_time()))

    def of(self, name: str) -> float:
        ends = [time for _, time in self.times[1:]]
        return sum(
            end - start
            for (each, start), end in zip(self.times, ends, strict=False)
            if each == name
        )


def functions(files: Sequence[str]) -> Iterator[str]:
    """`file.py:callable` for each public function of the files, or for the one that is named."""
    for name in files:
        file, _, function = name.partition(":")
        body = ast.parse(Path(file).read_text()).body
        every = [
            node.name
            for node in body
            if isinstance(node, ast.FunctionDef)
            and not node.name.startswith("_")
            and len(node.args.args) == len(node.args.defaults)
        ]
        yield from (f"{file}:{each}" for each in ([function] if function else every))


def of_the_repository() -> Iterator[str]:
    """The zoo, and people's models."""
    yield from names()
    yield from functions([str(file) for file in sorted(MODELS.glob("*.py"))])


def examine(model: str, target: str = "cortex-m55") -> Examined:
    """Exports a model, one of the zoo with random weights.

    Raises:
        CompilerError: it is refused.
    """
    clock = _Clock()
    weights = RANDOM if model in names() else None
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "export"
        start = process_time()
        record = Exporter(clock.step).run(
            ExportJob(model=model, target=target, weights=weights, output=output)
        )
        seconds = process_time() - start
        program = read_program((output / PROGRAM).read_bytes())
        samples = Samples.load(output / SAMPLES)
        real = ModelOutputs.load(output / OUTPUTS).real
    try:
        few = islice(samples, _JUDGING)
        runs = [each.outputs for each in evaluate_all(build_graph(program), few)]
    except CompilerError:
        runs = []
    made = [
        torch.stack([torch.from_numpy(np.asarray(each)) for each in ports])
        for ports in zip(*runs, strict=True)
    ]
    ratios = tuple(
        snr([torch.from_numpy(exact[: len(port)])], [port])
        if len(exact) >= 1 and exact[: len(port)].shape == port.shape
        else math.nan
        for exact, port in zip(real, made, strict=False)
    )
    floats = len(record.float_operators)
    return Examined(record.fidelity, ratios, floats, seconds, clock.of("compare"))
