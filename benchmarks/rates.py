#!/usr/bin/env python3
"""Fits the rates of instruction sets, which plans compare streams by, to measured instructions.

    python benchmarks/rates.py measure   # the calls of chains of layers, on QEMU
    python benchmarks/rates.py add       # those of chains that have not been measured
    python benchmarks/rates.py compare   # how far today's rates are from these
    python benchmarks/rates.py fit       # writes plan/streams/costs/rates.json

A chain is computed as whole tensors, and in streams of several bands with little scratch and with
all that is of use. The rates of whole tensors are fitted to the instructions of each layer, those
of streams to what each stage takes more than its layer as a whole. Both are least squares of
differences, as shares of the layer. A rate that no chain tells much about stays near today's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares, nnls

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from harness.convolutions import Numbers
from harness.images import kernel_harness
from harness.rated_chains import CHAINS, Chain, Kind, Samples, samples

from cmbuild import run
from cmbuild.paths import boards
from cmcompiler.emit.harness_batch import Case
from cmcompiler.ir.op import OUTSIDE
from cmcompiler.isa import Isa
from cmcompiler.plan.abi import STREAM
from cmcompiler.plan.planner import plan_of
from cmcompiler.plan.streams.costs.rates import FITTED, RATES, Rates

RECORDED = Path(__file__).with_name("recorded_rates.json")

BOARDS = {Isa.SCALAR: "mps2-m0plus", Isa.DSP: "mps2-an386", Isa.MVE: "corstone300"}
"""A board for each instruction set. The first one is made here: QEMU's only board with a core of
Armv6-M has 16 KB of RAM, so a Cortex-M3 executes its code.
"""

M3 = "mps2-an385"

WHOLE_RATES = (
    *("product", "output", "vector", "gathered", "segment", "tap", "line", "strided", "general"),
    *("pooled", "byte", "strip", "copied"),
)
"""Rates of whole tensors; all others are of streams."""
TURNS = ("turn", "wait")
"""Rates of the interpreter, which runs of STREAMED tell."""

STREAMED = (("ds_cnn", "whole"), ("ds_cnn", "rows"))
"""Models of the zoo, and how their inputs come."""

KEPT = ("tiled",)
"""Rates that were set by runs of whole networks in tiles, since chains do not measure them."""

LITTLE = 1e-3
"""How much a rate that is twice or half of today's counts, as the square of a share of a layer."""


def layers(isa: Isa, chains: Iterable[str], folder: Path) -> dict[str, int]:
    """Instructions by the name of a sample."""
    folder.mkdir()
    harness = kernel_harness(BOARDS[isa], isa.label, folder)
    counts: dict[str, int] = {}
    for index, text in enumerate(chains):
        own = folder / str(index)
        own.mkdir()
        drafted = list(samples(Chain(text), isa))
        inputs = (Numbers(1).int8(*Chain(text).graph.inputs[0].tensor.shape),)
        cases = [Case.of(plan_of(draft), inputs) for draft, _ in drafted]
        for (_, every), result in zip(drafted, harness.run(cases, own, 600), strict=True):
            for sample in every:
                ticks = result.ticks[sample.step]
                counts[sample.name] = harness.launcher.instructions(ticks) or 0
    return counts


def added(isa: Isa, recorded: dict[str, int], folder: Path) -> dict[str, int]:
    """With the chains that the record does not have."""
    known = {name.partition(" | ")[0] for name in recorded}
    return recorded | layers(isa, [text for text in CHAINS if text not in known], folder)


def turned(isa: Isa, folder: Path) -> list[dict[str, int]]:
    """Turns, rows from outside and the interpreter's instructions, of runs of STREAMED."""
    runs = []
    for model, feed in STREAMED:
        result = run(model, BOARDS[isa], feed=feed, build_dir=folder / model / feed)
        steps = json.loads((Path(result.artifacts["plan"]) / "plan.json").read_text())["steps"]
        layers = [layer for layer in result.layers if layer.kernel == STREAM]
        kernels = [step["kernel"] for step in steps]
        turns = waits = at = 0
        for index, step in enumerate(steps):
            if step["kernel"] == STREAM:
                at = index + 1
                outside = [kernels[at + turn] in OUTSIDE for turn in step["turns"]]
                turns, waits = turns + outside.count(False), waits + outside.count(True)
        count = sum(layer.instructions or 0 for layer in layers)
        runs.append({"turns": turns, "waits": waits, "instructions": count})
    return runs


def interpreted(rates: Rates, runs: Sequence[Mapping[str, int]]) -> Rates:
    """With the rates of the interpreter, from runs of whole networks."""
    work = np.array([[run["turns"], run["waits"]] for run in runs], float)
    counts = np.array([run["instructions"] for run in runs], float)
    costs = nnls(work / counts[:, None], np.ones(len(runs)))[0]
    return _with(rates, dict(zip(TURNS, map(_rounded, costs), strict=True)))


def fitted(fit: Samples, rates: Rates, names: Sequence[str], kind: Kind) -> Rates:
    """With the rates of these names that are nearest to the counts."""
    start = np.array([_read(rates, name) for name in names])
    base = np.maximum(start, 1e-2)

    def residuals(scales: Any) -> Any:
        changed = _with(rates, dict(zip(names, scales * base, strict=True)))
        away = np.sqrt(LITTLE) * (scales - start / base)
        return np.concatenate([fit.errors(changed, kind), away])

    best = least_squares(
        residuals,
        start / base,
        bounds=(0, np.inf),
        loss="soft_l1",
        f_scale=0.1,
        max_nfev=30,
        diff_step=1e-2,
    )
    return _with(rates, {n: _rounded(v) for n, v in zip(names, best.x * base, strict=True)})


def _rounded(value: float) -> float:
    number = float(f"{value:.2g}")
    return int(number) if number == int(number) else number


def _read(rates: Rates, name: str) -> float:
    first, _, rest = name.partition(".")
    value = getattr(rates, first)
    if not rest:
        return float(value)
    return float(value[int(rest)] if isinstance(value, tuple) else getattr(value, rest))


def _with(rates: Rates, values: Mapping[str, float]) -> Rates:
    for name, value in values.items():
        first, _, rest = name.partition(".")
        old, new = getattr(rates, first), value
        if isinstance(old, tuple):
            new = tuple(value if str(i) == rest else each for i, each in enumerate(old))
        elif rest:
            new = replace(old, **{rest: value})
        rates = replace(rates, **{first: new})
    return rates


def names_of(rates: Rates, kind: Kind) -> list[str]:
    """Names of the rates that samples of a kind tell, with parts after a point; those of 0 are of
    no use to an instruction set's kernels.
    """
    parts = {
        "deep": ("call", "column", "batch"),
        "shallow": ("call", "column", "batch"),
        "alone": "01",
    }
    every = [
        f"{name}.{part}" if part else name
        for name in asdict(rates)
        if name not in (*TURNS, *KEPT) and (name in WHOLE_RATES) is (kind is Kind.WHOLE)
        for part in parts.get(name, ("",))
    ]
    return [name for name in every if _read(rates, name)]


def report(fit: Samples, before: Rates, after: Rates) -> None:
    for kind in Kind:
        print(f"  {kind.value}")
        for rates in (before, after):
            errors = np.abs(fit.errors(rates, kind))
            parts = [np.mean(errors), *np.quantile(errors, (0.5, 0.9, 1))]
            print(
                f"    {len(errors):4} mean, median, 90 %, most", *(f"{part:.1%}" for part in parts)
            )


def write(rates: Mapping[Isa, Rates]) -> None:
    table = {isa.label: asdict(each) for isa, each in rates.items()}
    value = {"provenance": "benchmarks/rates.py on QEMU, gcc 12.2", "rates": table}
    FITTED.write_text(_lines(value) + "\n")


def _lines(value: object, level: int = 0) -> str:
    if not isinstance(value, dict) or level == 3:
        return json.dumps(value)
    inner = " " * (level + 1)
    items = (f"{inner}{json.dumps(key)}: {_lines(each, level + 1)}" for key, each in value.items())
    return "{\n" + ",\n".join(items) + "\n" + " " * level + "}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["measure", "add", "compare", "fit"])
    options = parser.parse_args()
    if options.what in ("measure", "add"):
        with tempfile.TemporaryDirectory() as folder:
            record(Path(folder), is_whole=options.what == "measure")
        return
    runs, made = json.loads(RECORDED.read_text()), {}
    for isa, rates in list(RATES.items()):
        fit = Samples.of(isa, runs[isa.label]["layers"])
        print(isa.label)
        made[isa] = rates
        if options.what == "fit":
            made[isa] = interpreted(rates, runs[isa.label]["streams"])
            for kind in Kind:
                made[isa] = fitted(fit, made[isa], names_of(rates, kind), kind)
            for name in (*TURNS, *(name for kind in Kind for name in names_of(rates, kind))):
                print(f"    {name:16} {_read(rates, name):8} {_read(made[isa], name):8}")
        report(fit, rates, made[isa])
    if options.what == "fit":
        write(made)


def record(folder: Path, *, is_whole: bool) -> None:
    """Writes what is measured of all chains, or adds those that were not."""
    with_armv6m(folder / "boards")
    os.environ["CMBUILD_BOARD_PATH"] = str(folder / "boards")
    runs = {} if is_whole else json.loads(RECORDED.read_text())
    for isa in Isa:
        own = folder / isa.label
        if is_whole:
            runs[isa.label] = {"layers": layers(isa, CHAINS, own), "streams": turned(isa, own)}
        else:
            runs[isa.label]["layers"] = added(isa, runs[isa.label]["layers"], own)
    RECORDED.write_text(json.dumps(runs, indent=0) + "\n")


def with_armv6m(folder: Path) -> None:
    """Makes the first one of BOARDS."""
    board = folder / BOARDS[Isa.SCALAR]
    shutil.copytree(boards() / M3, board)
    file = board / "board.toml"
    file.write_text(file.read_text().replace("cortex-m3", "cortex-m0plus"))


if __name__ == "__main__":
    main()
