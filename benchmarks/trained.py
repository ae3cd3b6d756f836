"""MLPerf Tiny's networks with trained weights, beside TensorFlow Lite Micro and published results.

`python benchmarks/trained.py --weights FOLDER` measures them and writes benchmarks/trained.json and
docs/trained.md; `--models` and `--boards` name some; `--print` prints the page of an earlier
measurement. FOLDER has the weights of
models as NAME.npz or NAME.tflite, and may have real inputs as NAME_inputs.npy, most of which
calibrate the model and some of which it is judged by; without it weights are downloaded.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "trained.md"
MEASURED = HERE / "trained.json"
OTHERS = HERE / "trained_others.json"
"""Figures that others measured or published, with sources."""

MODELS = (
    "resnet8",
    "resnet8_large",
    "ds_cnn",
    "mobilenet_v1_025",
    "deep_autoencoder",
    "streaming_wakeword",
)
BOARDS = ("corstone300", "mps2-an500", "mps2-an386", "mps2-an505", "mps2-an385", "nucleo-g0b1re")


@dataclass(frozen=True)
class Row:
    """One network on one core; cycles are estimated, sizes are bytes.

    Attributes:
        flash: code of the whole firmware, and weights.
        snr: of the first output to the float network, in dB.
        macs, whole_macs: multiply-accumulates that are computed, and those of all channels.
    """

    model: str
    core: str
    cycles: int
    instructions: int
    arena: int
    flash: int
    snr: float
    macs: int
    whole_macs: int


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--weights", type=Path, metavar="FOLDER")
    arguments.add_argument("--boards", type=lambda text: text.split(","), default=list(BOARDS))
    arguments.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS))
    arguments.add_argument("--print", action="store_true", dest="only_prints")
    chosen = arguments.parse_args()
    if chosen.only_prints:
        print(page(), end="")
    else:
        kept = [row for row in read() if row.model not in chosen.models]
        for model, board in product(chosen.models, chosen.boards):
            kept.append(row(model, board, _words(chosen.weights, model)))
            kept.sort(key=lambda each: MODELS.index(each.model))
            MEASURED.write_text(json.dumps([asdict(each) for each in kept], indent=1) + "\n")
        PAGE.write_text(page(), "utf-8")


def read() -> list[Row]:
    """The rows that were measured last."""
    if not MEASURED.is_file():
        return []
    return [Row(**each) for each in json.loads(MEASURED.read_text())]


def _words(folder: Path | None, model: str) -> list[str]:
    """Options for the weights and inputs in a folder."""
    if folder is None:
        return []
    files = [folder / f"{model}{suffix}" for suffix in (".npz", ".tflite")]
    words = ["--weights", str(next(file for file in files if file.is_file()))]
    if (inputs := folder / f"{model}_inputs.npy").is_file():
        words += ["--calibration", str(inputs)]
    return words


def row(model: str, board: str, words: list[str]) -> Row:
    """A run with int8 inputs and outputs."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["run", model, "--board", board, "--io", "int8", "--json", *words]
        done = subprocess.run(
            [sys.executable, "-m", "cmbuild", *command, "--build-dir", folder],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise SystemExit(f"{model} on {board}: {done.stderr}")
    run = json.loads(done.stdout)
    print(model, board, run["cycles"]["total"], file=sys.stderr)
    memory = run["memory"]
    return Row(
        model=model,
        core=run["target"],
        cycles=run["cycles"]["total"],
        instructions=run["instructions"]["total"],
        arena=memory["ram"]["arena"],
        flash=memory["flash"]["total"],
        snr=round(run["fidelity"]["outputs"][0]["snr_db"], 1),
        macs=run["macs"],
        whole_macs=run["whole_macs"],
    )


def page() -> str:
    """docs/trained.md from the measured and the published figures."""
    rows = read()
    others = json.loads(OTHERS.read_text())
    lines = [
        "# Trained networks",
        "",
        "MLPerf Tiny's networks with its trained weights, `--io int8`, one inference. Made by",
        "`python benchmarks/trained.py --weights FOLDER`, which runs each model on each core.",
        "",
        "| model | core | M cycles | arena | flash | SNR, dB | TFLM: M cycles | arena | "
        "published: M cycles |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    lines += [_line(each, others) for each in rows]
    lines += ["", *_notes(rows, others)]
    return "\n".join(lines) + "\n"


def _line(row: Row, others: Mapping[str, Any]) -> str:
    micro = others["tflm"]["figures"].get(row.core, {}).get(row.model)
    best = others["published"].get(row.core, {}).get(row.model)
    cells = (
        row.model,
        row.core,
        f"{row.cycles / 1e6:.3g}",
        f"{row.arena:,}",
        f"{row.flash:,}",
        f"{row.snr:.1f}",
        f"{micro[0] / 1e6:.3g}" if micro else "",
        f"{micro[1]:,}" if micro else "",
        f"{best[0]:g} ({best[1]})" if best else "",
    )
    return f"| {' | '.join(cells)} |"


def _notes(rows: list[Row], others: Mapping[str, Any]) -> Iterator[str]:
    yield wrapped(
        "Cycles are estimates of each core's model with zero wait states, which "
        "[cycles](cycles.md) explains; none was measured on a board. Flash is the whole firmware "
        "and the weights. SNR is that of the first output to the float network: on MLPerf Tiny's "
        "speech that calibration did not see, on crops of photographs and, for deep_autoencoder, "
        "on random features of the range of real ones."
    )
    yield ""
    for model, whole in dict.fromkeys((r.model, r.whole_macs) for r in rows):
        macs = sorted({r.macs for r in rows if r.model == model})
        if macs[0] < whole:
            # Cores differ in whether a copy of the channels that a layer reads is worth its memory.
            left = " or ".join(f"{each / 1e6:.3f}" for each in macs)
            yield wrapped(
                f"Channels of {model} that change no output are not computed: {left} of "
                f"{whole / 1e6:.3f} million multiply-accumulates are left."
            )
            yield ""
    yield wrapped(f"TFLM is {others['tflm']['source']}")
    yield ""
    yield "Published figures are of boards:"
    yield ""
    for short, source in others["sources"].items():
        yield wrapped(f"- {short}: {source}", indent="  ")


def wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text, 100, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


if __name__ == "__main__":
    main()
