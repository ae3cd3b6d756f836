#!/usr/bin/env python3
"""What LLVM's scheduling models say of the hot Helium loops, beside the model of the Cortex-M55.

    python benchmarks/second_opinion.py --mca llvm-mca-19

Takes the loops of one block that `cmbuild explain` finds in models of the zoo on corstone300,
without the branch that closes them, and writes tests/data/second_opinion.json. Loops that llvm-mca
does not accept are printed and left out. Loops of several blocks stay as they are in
that file: those of deep products are four chunks of theirs. The table of docs/cycles.md is made
from that file: `./cmbuildw test tests/house --rewrite`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RESULT = Path(__file__).parents[1] / "tests" / "data" / "second_opinion.json"
MODELS = ("resnet8", "ds_cnn", "mobilenet_v1_025", "deep_autoencoder")
CORES = ("cortex-m55", "cortex-m85")
ITERATIONS = 100


def explained(model: str, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "cmbuild", "explain", model, "--board", "corstone300"]
    command += ["--io", "int8", "--json", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    collected: dict[str, Any] = json.loads(done.stdout or "{}")
    return collected


def loops(model: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The function, and each instruction's size and text."""
    for op in range(1, explained(model)["ops"] + 1):
        for loop in explained(model, "--op", str(op), "--blocks", "8").get("blocks", ()):
            block = loop["block"]
            if block["after"] != block["address"]:
                continue
            *body, _ = block["instructions"]
            ends = [line["address"] for line in block["instructions"][1:]]
            sized = zip(body, ends, strict=True)
            texts = tuple(f"{end - line['address']} {line['text']}" for line, end in sized)
            yield loop["place"].partition(" ")[0], texts


def cycles(mca: str, core: str, loop: tuple[str, ...]) -> float | None:
    """Cycles of an iteration in the steady state; None if llvm-mca does not accept the loop."""
    text = "".join(line.partition(" ")[2] + "\n" for line in loop)
    totals = []
    for iterations in (ITERATIONS, 2 * ITERATIONS):
        command = [mca, "-mtriple=thumbv8.1m.main-none-eabi", f"-mcpu={core}"]
        command.append(f"-iterations={iterations}")
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        total = re.search(r"Total Cycles:\s+(\d+)", done.stdout)
        if total is None:
            return None
        totals.append(int(total[1]))
    return (totals[1] - totals[0]) / ITERATIONS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mca", default="llvm-mca", metavar="PROGRAM")
    options = parser.parse_args()
    collected: list[dict[str, Any]] = []
    for function, loop in sorted({loop for model in MODELS for loop in loops(model)}):
        said = {core: cycles(options.mca, core, loop) for core in CORES}
        if None in said.values():
            print(f"{function}: not accepted", file=sys.stderr)
            continue
        collected.append({"function": function, "llvm": said, "instructions": loop})
    functions = {each["function"] for each in collected}
    collected += [
        each for each in json.loads(RESULT.read_text()) if each["function"] not in functions
    ]
    collected.sort(key=lambda each: (each["function"], each["instructions"]))
    RESULT.write_text(json.dumps(collected, indent=1) + "\n")


if __name__ == "__main__":
    main()
