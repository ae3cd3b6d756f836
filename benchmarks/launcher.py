"""Overhead of cmbuild's launcher over QEMU itself: `python benchmarks/launcher.py PROGRAM.pte`.

Runs the same sample on the same image with QEMU's bare command line and with cmbuild's launcher,
alternating. The launcher's time includes everything else a run does: checks before the launch,
sample files, watchdog, log, reading the records. The goal is at most 150 ms per run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cmbuild.cli.session import session
from cmbuild.image.checks import check_image
from cmbuild.launchers.base import ProgramLauncher
from cmbuild.launchers.execution import Interface, Request, execute
from cmbuild.launchers.selection import choose
from cmbuild.pipeline.pipeline import build_folder
from cmbuild.pipeline.request import BuildRequest
from cmbuild.pipeline.stages.runner import RunnerStage
from cmbuild.process import Processes

GOAL = 0.150


@dataclass(frozen=True)
class Pair:
    """Seconds of one run with QEMU alone, and with the launcher."""

    bare: float
    launched: float


def built(program: str, board: str, folder: Path) -> RunnerStage:
    """The image of a program for a board."""
    request = BuildRequest(model=program, board=board, build_dir=folder)
    with session(folder / "logs", json=False) as work:
        runner = work.pipeline.runner(request)
        work.perform([runner], [build_folder(request)])
    if work.status != 0:
        raise SystemExit(1)
    return runner


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(runner: RunnerStage, launcher: ProgramLauncher, folder: Path) -> Pair:
    """One run each way, in separate folders."""
    plan = runner.plan.record
    interface = Interface.of(plan)
    request = Request(samples=[[bytes(size) for size in interface.inputs]])
    kernels = {step.kernel for step in plan.steps if step.is_call}

    def launched() -> None:
        check_image(
            runner.image,
            runner.record,
            runner.board,
            kernels=kernels,
            machine=launcher.title,
            memory=launcher.memory,
        )
        execute(
            launcher,
            Processes(),
            runner.image,
            interface,
            request,
            folder=folder / "launched",
            timeout=600.0,
            log=folder / "log",
        )

    def bare() -> None:
        for stream in (folder / "bare").glob("output*"):
            stream.unlink()
        subprocess.run(command, cwd=folder / "bare", capture_output=True, check=True)

    time_launched = seconds(launched)
    (folder / "launched").rename(folder / "bare")
    command = launcher.command(launcher.find(), runner.image.absolute(), folder / "bare", 600.0)
    return Pair(seconds(bare), time_launched)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("program", help="a .pte, or a model of the zoo")
    parser.add_argument("--boards", default="corstone300,microbit", help="with commas")
    parser.add_argument("--times", type=int, default=20, help="how many pairs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cmbuild-launcher-") as name:
        for board in options.boards.split(","):
            runner = built(options.program, board, Path(name))
            launcher = choose(runner.board, "qemu")
            assert isinstance(launcher, ProgramLauncher)
            pairs = [
                measure(runner, launcher, Path(tempfile.mkdtemp(dir=name)))
                for _ in range(options.times)
            ]
            added = [pair.launched - pair.bare for pair in pairs]
            bare = statistics.median(pair.bare for pair in pairs)
            print(
                f"{board}: QEMU alone {bare * 1e3:.0f} ms; the launcher adds "
                f"{statistics.median(added) * 1e3:.0f} ms (median of {len(added)}; "
                f"least {min(added) * 1e3:.0f}, most {max(added) * 1e3:.0f}; "
                f"goal {GOAL * 1e3:.0f})"
            )
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
