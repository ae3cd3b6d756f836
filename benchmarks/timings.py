"""How long cmbuild takes on this machine: `python benchmarks/timings.py --help`.

Every figure is the wall time of whole commands, each in its own process, repeated: the median and
the fastest. Simulator time, which the project cannot improve, is shown separately. Caches and
builds go to a temporary folder, so cold runs are really cold.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Timing:
    """Something measured repeatedly.

    Attributes:
        seconds: of each run.
        goal: upper limit for the median, or None.
    """

    what: str
    seconds: tuple[float, ...]
    goal: float | None = None

    def row(self) -> tuple[str, ...]:
        goal = "" if self.goal is None else f"≤ {self.goal:g} s"
        median, fastest = statistics.median(self.seconds), min(self.seconds)
        return self.what, f"{median:.2f} s", f"{fastest:.2f} s", goal


@dataclass(frozen=True)
class Ended:
    """A finished command.

    Attributes:
        seconds: wall time.
        steps: seconds of each step that was not cached, by name.
    """

    seconds: float
    steps: dict[str, float]

    @property
    def besides_simulation(self) -> float:
        return self.seconds - self.steps.get("simulate", 0.0)


class Bench:
    """Runs commands with its own cache.

    Args:
        folder: temporary.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self._program = [sys.executable, "-m", "cmbuild"]

    def run(self, *words: str | Path) -> Ended:
        environment = {**os.environ, "CMBUILD_CACHE": str(self.cache)}
        start = time.perf_counter()
        done = subprocess.run(
            [*self._program, *map(str, words)],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - start
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
        document: dict[str, Any] = json.loads(done.stdout) if "--json" in words else {}
        steps = document.get("steps", ())
        worked = {step["name"]: step["seconds"] for step in steps if step["state"] == "done"}
        return Ended(seconds, worked)

    def forget(self, *folders: str) -> None:
        for name in folders:
            shutil.rmtree(self.folder / name, ignore_errors=True)


def repeated(times: int, measure: Callable[[], float]) -> tuple[float, ...]:
    return tuple(measure() for _ in range(times))


def wrapper_adds(bench: Bench, times: int) -> Timing | None:
    """Overhead of `./cmbuildw` over the program it starts, if this checkout is set up."""
    program = ROOT / ".venv" / "bin" / "cmbuild"
    if not program.exists():
        return None

    def wall(command: Sequence[str | Path]) -> float:
        start = time.perf_counter()
        subprocess.run([*command, "--help"], check=True, capture_output=True, cwd=bench.folder)
        return time.perf_counter() - start

    def once() -> float:
        return wall([ROOT / "cmbuildw"]) - wall([program])

    return Timing("cmbuildw, on top of what it starts", repeated(times, once), 0.05)


def timings(bench: Bench, model: str, boards: Sequence[str], times: int) -> list[Timing]:
    """All measurements, in the order of the table."""
    exported = bench.run("export", model, "--output-dir", "programs", "--json").seconds
    program = f"programs/{model}.pte"

    def help_screen() -> float:
        return bench.run("--help").seconds

    measured = [Timing("cmbuild --help", repeated(times, help_screen), 0.25)]
    measured += filter(None, [wrapper_adds(bench, times)])
    measured.append(Timing(f"export of {model}, one process", (exported,)))
    for board in boards:

        def cold_library(board: str = board) -> float:
            bench.forget("cache/libraries", "build")
            return bench.run("build", program, "--board", board, "--json").steps["libs"]

        def firmware(board: str = board) -> float:
            bench.forget("build")
            return bench.run("run", program, "--board", board, "--json").besides_simulation

        def again(board: str = board) -> float:
            return bench.run("run", program, "--board", board, "--json").besides_simulation

        measured += [
            Timing(f"{board}: library, cold", repeated(times, cold_library), 15.0),
            Timing(f"{board}: {model}.pte to running firmware", repeated(times, firmware), 5.0),
            Timing(f"{board}: the same again", repeated(times, again), 0.7),
        ]
    return measured


def table(rows: Sequence[Timing], markdown: bool) -> str:
    cells = [("", "median", "fastest", "goal"), *(row.row() for row in rows)]
    if markdown:
        cells.insert(1, ("---", "---:", "---:", "---:"))
        return "\n".join(f"| {' | '.join(row)} |" for row in cells)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        f"{row[0]:<{widths[0]}}"
        + "".join(f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        for row in cells
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--model", default="mv2", help="of `cmbuild models`")
    parser.add_argument("--boards", default="corstone300", help="of `cmbuild boards`, with commas")
    parser.add_argument("--times", type=int, default=5, help="how often each is done")
    parser.add_argument("--markdown", action="store_true", help="a table for a document")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cmbuild-timings-") as folder:
        rows = timings(Bench(Path(folder)), options.model, options.boards.split(","), options.times)
    print(table(rows, options.markdown))
    load = os.getloadavg()[0]
    print(
        f"\n{os.cpu_count()} cores, load {load:.1f} at the end, Python "
        f"{platform.python_version()}; {options.times} times each; what simulation takes is "
        "not in the last two of a board."
    )


if __name__ == "__main__":
    main()
