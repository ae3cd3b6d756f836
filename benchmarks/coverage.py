#!/usr/bin/env python3
"""How much of people's models runs in integers, how exactly, and in how many instructions.

    python benchmarks/coverage.py [--board BOARD]... [--markdown FILE] [FILE.py[:CALLABLE]]...
    python benchmarks/coverage.py --kinds [--board BOARD]... [--markdown FILE]

By default the models of tests/data/models; --kinds: those of kinds.py, which have their own table.
Prints one row a model: multiply-accumulates, their share in integer kernels, the signal-to-noise
ratio of the int8 reference's outputs against the float module's on the calibration inputs, the same
of the float module with nothing but its inputs rounded to 8 bits, and instructions on the boards.
--markdown also puts the table into a document, in place of the one there.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from harness.coverage import Coverage, cover

from cmcompiler.errors import CompilerError

_TABLE = re.compile(r"^\|.*\n(\|.*\n)+", re.MULTILINE)

MODELS = Path(__file__).resolve().parents[1] / "tests" / "data" / "models"
KINDS = MODELS / "kinds.py"
HEADING = "\n## Kinds"


def models(names: Sequence[str]) -> Iterator[str]:
    """`file.py:callable` for each public function of the files."""
    every = [str(file) for file in sorted(MODELS.glob("*.py")) if file != KINDS]
    for name in names or every:
        file, _, function = name.partition(":")
        actual = [node.name for node in ast.parse(Path(file).read_text()).body if is_model(node)]
        yield from (f"{file}:{each}" for each in ([function] if function else actual))


def is_model(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not node.args.args
    )


def instructions(model: str, board: str) -> str:
    command = [sys.executable, "-m", "cmbuild", "run", model, "--board", board, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["failed"])[0]
    return f"{json.loads(done.stdout)['instructions']['total']:,}"


def row(model: str, boards: Sequence[str]) -> str:
    name = model.rpartition("/")[2]
    try:
        coverage: Coverage = cover(model)
    except CompilerError as error:
        return f"| {name} | {error.message} |"
    counted = "".join(f" {instructions(model, board)} |" for board in boards)
    floats = ", ".join(f"{op} ×{count}" for op, count in coverage.float_ops.items()) or "–"
    return (
        f"| {name} | {coverage.macs:,} | {coverage.share:.1%} | {coverage.snr:.1f} dB "
        f"| {coverage.input_snr:.1f} dB |{counted} {floats} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--board", action="append", default=[])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--kinds", action="store_true")
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    heads = ["model", "MACs", "in integers", "SNR", "input alone", *options.board, "in float"]
    table = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    print("\n".join(table))
    for model in models([str(KINDS)] if options.kinds else options.models):
        table.append(row(model, options.board))
        print(table[-1], flush=True)
    if options.markdown is not None:
        text = options.markdown.read_text()
        start = text.index(HEADING) if options.kinds else 0
        made = _TABLE.sub("\n".join(table) + "\n", text[start:], count=1)
        options.markdown.write_text(text[:start] + made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
