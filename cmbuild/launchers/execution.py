"""The host's side of the runner: hands samples to an image and takes outputs and counts back.

runtime/include/cmrt/runner.h describes the streams and records.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild.errors import Failed
from cmbuild.image.console import ConsoleRecord
from cmbuild.launchers.base import Launcher, ProperRun
from cmbuild.process import Processes
from cmbuild.results import PoolUse

if TYPE_CHECKING:
    from cmcompiler.plan.record import PlanRecord

VERSION = 2
OUTPUT_STREAM = "output{:x}"
"""Name of the file with all samples' results of an output."""

# Helium code simulates at some 20 M multiply-accumulate instructions a second on a slow computer,
# with one to eight MACs each; sanitizers are about as slow. A tenth of that is not a hang yet.
_SECONDS = 60.0
_MACS_PER_SECOND = 2e6


# Semihosting counts a file's bytes in 32 bits, and some implementations in 31.
_STREAM_BYTES = 1 << 31


class TooManySamples(Failed):
    template = "{samples:,} samples are too many for one run; the limit is {most:,}"
    hint = "run fewer at a time"


class WrongImage(Failed):
    template = "{machine} ran an image other than the one built: {what}"
    hint = "the full output is in {log}"


class Incomplete(Failed):
    template = "{machine} ended without an error, but {what}"
    hint = "the full output is in {log}"


@dataclass(frozen=True, slots=True)
class Interface:
    """The host's view of the program in an image.

    Attributes:
        identity: the plan's, which the image repeats.
        inputs, outputs: bytes of each, per sample.
        steps: their number.
    """

    identity: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    steps: int

    @classmethod
    def of(cls, plan: PlanRecord) -> Interface:
        return cls(
            identity=plan.identity,
            inputs=tuple(port.place.bytes for port in plan.inputs),
            outputs=tuple(port.place.bytes for port in plan.outputs),
            steps=len(plan.steps),
        )


@dataclass(frozen=True, slots=True)
class Watch:
    """Memory to show after a step.

    Attributes:
        place: the cm_ref of its first byte.
        size: bytes.
    """

    step: int
    place: int
    size: int


@dataclass(frozen=True, slots=True)
class Request:
    """A request to an image.

    Attributes:
        samples: per sample, the bytes of each input as laid out in memory.
        profiled: for how many samples, from the first on, to report the ticks of each step.
        watches: memory to show for each sample, ordered by step.
        watched: the first sample to show it for.
        reset: whether mutable buffers are reset before each sample, not only before the first.
    """

    samples: Sequence[Sequence[bytes]]
    profiled: int = 1
    watches: Sequence[Watch] = ()
    watched: int = 0
    reset: bool = False


@dataclass(frozen=True, slots=True)
class Execution:
    """The results of an image's run.

    Attributes:
        outputs: per sample, the bytes of each output as laid out in memory.
        traces: per watched sample, the bytes of each watch.
        ticks: per sample, of the board's clock; 0 if there is none.
        step_ticks: per profiled sample, of each step.
        stack: bytes at the deepest point; None if unknown.
        seconds: wall time of the whole run.
        log: everything that was printed.
        pools: of the executor.
    """

    outputs: tuple[tuple[bytes, ...], ...]
    traces: tuple[tuple[bytes, ...], ...]
    ticks: tuple[int, ...]
    step_ticks: tuple[tuple[int, ...], ...]
    stack: int | None
    seconds: float
    log: Path
    pools: tuple[PoolUse, ...] = ()


def time_limit(macs: int, samples: int) -> float:
    """Seconds after which a run of so many samples is considered to hang."""
    return _SECONDS + samples * macs / _MACS_PER_SECOND


def execute(
    launcher: Launcher,
    processes: Processes,
    image: Path,
    interface: Interface,
    request: Request,
    *,
    folder: Path,
    timeout: float,
    log: Path,
) -> Execution:
    """Runs samples through an image.

    Args:
        folder: private, empty working folder for the streams.
        timeout: seconds; see time_limit.
        log: gets everything that is printed; kept.

    Raises:
        TooManySamples: an image cannot count their bytes.
        WrongImage: the image has another interface.
        Incomplete: outputs or counts are missing, or cut short.
        LauncherMissing, TimedOut, Interrupted, Fault, Silent, EndedEarly, Refused: as Launcher.run.
    """
    sizes = (*interface.inputs, *interface.outputs, sum(watch.size for watch in request.watches))
    most = _STREAM_BYTES // max(1, *sizes)
    if len(request.samples) > most:
        raise TooManySamples(samples=len(request.samples), most=most)
    write_streams(folder, interface, request)
    run = launcher.run(processes, image, folder, timeout=timeout, log=log)

    try:
        _check(run.records, interface)
    except ValueError as error:
        raise WrongImage(machine=launcher.title, what=error, log=log) from error
    try:
        return _execution(run, interface, request, folder)
    except (ValueError, IndexError) as error:
        raise Incomplete(machine=launcher.title, what=error, log=log) from error


def _execution(run: ProperRun, interface: Interface, request: Request, folder: Path) -> Execution:
    """Raises ValueError or IndexError if something is missing."""
    samples = len(request.samples)
    outputs = [
        _split(folder / OUTPUT_STREAM.format(index), [size] * samples)
        for index, size in enumerate(interface.outputs)
    ]
    watched = [watch.size for watch in request.watches]
    traced = samples - request.watched
    trace = _split(folder / "trace", watched * traced) if watched else []
    ticks = tuple(record.number(1) for record in _of_kind(run.records, "sample"))
    if len(ticks) != samples:
        raise ValueError(f"it reported {len(ticks)} samples, not {samples}")
    return Execution(
        outputs=tuple(zip(*outputs, strict=True)) if outputs else ((),) * samples,
        traces=tuple(
            tuple(trace[sample * len(watched) : (sample + 1) * len(watched)])
            for sample in range(traced)
        ),
        ticks=ticks,
        step_ticks=_step_ticks(run.records, min(request.profiled, samples), interface.steps),
        stack=next((r.number(0) for r in _of_kind(run.records, "stack")), 0) or None,
        seconds=run.seconds,
        log=run.log,
        pools=tuple(
            PoolUse(record.words[0], record.number(1), record.number(2))
            for record in _of_kind(run.records, "pool")
        ),
    )


def write_streams(folder: Path, interface: Interface, request: Request) -> None:
    """Writes what an image reads into a folder, which is created if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = (VERSION, len(request.samples), request.profiled, len(request.watches))
    (folder / "request").write_bytes(
        struct.pack("<6I", *numbers, request.watched, int(request.reset))
    )
    watches = b"".join(struct.pack("<3I", w.step, w.place, w.size) for w in request.watches)
    (folder / "watch").write_bytes(watches)
    for index, size in enumerate(interface.inputs):
        with (folder / f"input{index:x}").open("wb") as file:
            for sample in request.samples:
                if len(sample[index]) != size:
                    raise ValueError(f"input {index} has {len(sample[index])} bytes, not {size}")
                file.write(sample[index])


def _check(records: Sequence[ConsoleRecord], interface: Interface) -> None:
    """Raises ValueError if the image reported another interface."""
    first = next(_of_kind(records, "runner"), None)
    model = next(_of_kind(records, "model"), None)
    if first is None or model is None:
        raise ValueError("it does not identify itself")
    if first.number(0) != VERSION:
        raise ValueError(f"its runner is of version {first.number(0)}, not {VERSION}")
    if first.words[2:] != (interface.identity,):
        raise ValueError(f"its identity is {' '.join(first.words[2:])}, not {interface.identity}")
    expected = (len(interface.inputs), len(interface.outputs), interface.steps)
    counts = tuple(model.number(index) for index in range(3))
    if counts != expected:
        raise ValueError(f"it has inputs, outputs, steps {counts}, not {expected}")


def _split(path: Path, sizes: Sequence[int]) -> list[bytes]:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise ValueError(f"{path.name} is not a file")
    size = path.stat().st_size if path.exists() else 0
    if size != sum(sizes):
        raise ValueError(f"it wrote {size} bytes of {path.name}, not {sum(sizes)}")
    data = path.read_bytes() if size else b""
    pieces, position = [], 0
    for size in sizes:
        pieces.append(data[position : position + size])
        position += size
    return pieces


def _step_ticks(
    records: Sequence[ConsoleRecord], profiled: int, steps: int
) -> tuple[tuple[int, ...], ...]:
    ticks: list[list[int]] = [[] for _ in range(profiled)]
    for record in _of_kind(records, "step"):
        sample = record.number(0)
        if sample >= profiled:
            raise ValueError(f"it counts sample {sample}, out of the range of {profiled}")
        ticks[sample].append(record.number(2))
    for counted in map(len, ticks):
        if counted != steps:
            raise ValueError(f"it reported {counted} steps, not {steps}")
    return tuple(map(tuple, ticks))


def _of_kind(records: Sequence[ConsoleRecord], kind: str) -> Iterator[ConsoleRecord]:
    return (record for record in records if record.kind == kind)
