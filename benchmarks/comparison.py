"""Draws docs/comparison.svg: cmbuild beside TensorFlow Lite Micro and ExecuTorch's runtime.

    python benchmarks/comparison.py                     # from comparison.json
    python benchmarks/comparison.py --measure MODELS    # first measure cmbuild again

MODELS is a folder with the programs of the file: ds_cnn.tflite and so on, trained int8 networks of
MLPerf Tiny. Figures of TensorFlow Lite Micro were measured once and are only recorded; those of
ExecuTorch are in cmbuild/benchmark/upstream.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path

from cmbuild.benchmark.upstream import measurements

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_suffix(".json")
PICTURE = ROOT / "docs" / "comparison.svg"

CMBUILD, TFLM, EXECUTORCH = "cmbuild", "TensorFlow Lite Micro", "ExecuTorch's runtime"
ENGINES = (CMBUILD, TFLM, EXECUTORCH)
BOARD, CORE = "corstone300", "cortex-m55"
MODELS = {
    "ds_cnn": ("keyword spotting", "ds_cnn"),
    "resnet8": ("image classification", "resnet8"),
    "vww": ("person detection", "mobilenet_v1_025"),
    "ad": ("anomaly detection", "deep_autoencoder"),
}
"""Title, and name in cmbuild's zoo, of each model."""

BEST = "best"
"""Variant of ExecuTorch's build: no logging, optimised for size, only the operators in use."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Cost of one inference of a model with one engine.

    Attributes:
        cycles: estimated by cmbuild's model of the core; None if not recorded.
        ram: arena, variables and the stack that is used, in bytes.
        code: flash without the model, in bytes.
    """

    engine: str
    model: str
    instructions: int
    cycles: int | None
    ram: int
    code: int


def recorded() -> list[Figures]:
    """The figures of all engines."""
    rows = [Figures(**row) for row in json.loads(RECORD.read_text())["rows"]]
    runs = {run.model: run for run in measurements().runs if run.variant == BEST}
    rows += [
        Figures(EXECUTORCH, model, run.instructions, None, run.ram, run.code)
        for model, (_, name) in MODELS.items()
        if (run := runs[name]).target == CORE
    ]
    return rows


def measure(model: Path) -> Figures:
    """Run a program and take its figures from the report of `cmbuild run`."""
    command = [sys.executable, "-m", "cmbuild", "run", str(model), "--board", BOARD, "--json"]
    run = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    ram, code = run["memory"]["ram"], run["memory"]["flash"]["code"]
    used = ram["arena"] + ram["static"] + ram["stack"]
    instructions, cycles = run["instructions"]["total"], run["cycles"]["total"]
    return Figures(CMBUILD, model.stem, instructions, cycles, used, code)


def record(folder: Path) -> None:
    """Measures cmbuild again, and keeps the other rows of the file."""
    document = json.loads(RECORD.read_text())
    others = [row for row in document["rows"] if row["engine"] != CMBUILD]
    own = [asdict(measure(folder / f"{model}.tflite")) for model in MODELS]
    rows = ",\n".join(json.dumps(row) for row in [*own, *others])
    about = json.dumps(document["about"], ensure_ascii=False, indent=2)
    RECORD.write_text(f'{{\n"about": {about},\n"rows": [\n{rows}\n]\n}}\n')


# The picture.

WIDTH, COLUMN, LABELS, BAR, ROW, GAP = 920, 460, 132, 13, 15, 12
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f; }
.head { font-weight: 600; font-size: 14px; } .faint { fill: #57606a; }
.back { fill: #fff; } .e0 { fill: #1f6feb; } .e1 { fill: #bf8700; } .e2 { fill: #8c959f; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .faint { fill: #9198a1; } .back { fill: #0d1117; }
  .e0 { fill: #58a6ff; } .e1 { fill: #d29922; } .e2 { fill: #6e7681; }
}
"""
PANELS = (
    ("instructions", "Instructions of an inference", "counted"),
    ("cycles", "Cycles of an inference", "estimated; not recorded for ExecuTorch"),
    ("ram", "RAM", "activations, variables, stack"),
    ("code", "Flash, without the model", "code and constants"),
)


def picture(rows: Sequence[Figures]) -> str:
    """The chart as SVG."""
    height = 64 + 2 * _panel_height()
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>cmbuild beside TensorFlow Lite Micro and ExecuTorch on a Cortex-M55</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="back" width="{WIDTH}" height="{height}"/>',
        *_key(),
    ]
    for number, (field, title, note) in enumerate(PANELS):
        x, y = (number % 2) * COLUMN + 12, 52 + (number // 2) * _panel_height()
        parts += [_head(title, note, x, y), *_panel(rows, field, x, y + 28)]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel_height() -> int:
    return 40 + len(MODELS) * (len(ENGINES) * ROW + GAP)


def _key() -> Iterator[str]:
    yield _text(12, 24, "One inference on a Cortex-M55; less is better", "head")
    x = 400
    for number, engine in enumerate(ENGINES):
        yield f'<rect class="e{number}" x="{x}" y="14" width="{BAR}" height="{BAR}"/>'
        yield _text(x + 18, 25, engine)
        x += 40 + 7 * len(engine)


def _head(title: str, note: str, x: int, y: int) -> str:
    return (
        f'<text x="{x}" y="{y + 14}"><tspan class="head">{title}</tspan>'
        f'<tspan class="faint" dx="8">{note}</tspan></text>'
    )


def _panel(rows: Sequence[Figures], field: str, x: int, y: int) -> Iterator[str]:
    for model, (name, _) in MODELS.items():
        values = {row.engine: getattr(row, field) for row in rows if row.model == model}
        most = max(filter(None, values.values()))
        yield _text(x, y + 25, name)
        for number, engine in enumerate(ENGINES):
            value = values[engine]
            if value is not None:
                length = round((COLUMN - LABELS - 80) * value / most, 1)
                left, top = x + LABELS, y + number * ROW
                yield (
                    f'<rect class="e{number}" x="{left}" y="{top}" width="{length}" '
                    f'height="{BAR}"/>{_text(left + length + 6, top + 11, _short(value, field))}'
                )
        y += len(ENGINES) * ROW + GAP


def _short(value: int, field: str) -> str:
    if field in ("ram", "code"):
        return f"{value / 1024:.1f} KB"
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.0f} k"


def _text(x: float, y: float, text: str, style: str = "") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text x="{x:g}" y="{y:g}"{kind}>{escape(text)}</text>'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--measure", type=Path, metavar="MODELS")
    options = parser.parse_args()
    if options.measure is not None:
        record(options.measure)
    PICTURE.write_text(picture(recorded()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
