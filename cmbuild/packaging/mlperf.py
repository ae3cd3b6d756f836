"""MLPerf Tiny's benchmark around a packaged model: what its runner loads, and what it reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cmbuild import paths
from cmbuild.boards import link_script
from cmbuild.boards.board import Board
from cmbuild.boards.memory import Region
from cmbuild.errors import UsageError
from cmbuild.files import fill
from cmbuild.packaging.runtime_sources import included
from cmcompiler.emit.interface import InterfacePort, PackageInterface

TERMINAL = "terminal.c"
"""A board's file with the line to the runner."""

_TEMPLATES = "mlperf"
"""Folder of the runtime with the benchmark's files."""

_STARTUP = ("runner/finish.c", "runner/text.c")
"""Files of the runtime's runner that start-up calls."""

_BENCHMARK = """\
/* {title}: its data and results as those of the model {name}. */
#ifndef BENCHMARK_H
#define BENCHMARK_H

#include <stddef.h>
#include <stdint.h>

#include "{name}.h"

namespace benchmark {{

enum class Data {{ BYTES, SIGNED_BYTES, FLOATS }};

/* What the runner loads: rows of columns of channels. A byte stands for (byte - ZERO) * SCALE. */
constexpr Data DATA = Data::{data};
constexpr size_t ROWS = {rows}, COLUMNS = {columns}, CHANNELS = {channels};
constexpr int ZERO = {zero};
constexpr float SCALE = {scale!r}F;

/* From one to the next in the model's input. */
constexpr size_t ROW_STEP = {row_step}, COLUMN_STEP = {column_step}, CHANNEL_STEP = {channel_step};

constexpr size_t OUTPUTS = {outputs};
constexpr bool HAS_LOGITS = {has_logits};
constexpr bool IS_AUTOENCODER = {is_autoencoder};

using Input = {input_type};
using Output = {output_type};

inline struct {name} *model()
{{
    static struct {name} context;
    return &context;
}}

inline bool start()
{{
    static {macro}_ARENA(arena);
    return {name}_init(model(), arena, sizeof arena) == {ok};
}}

inline bool run()
{{
    return {name}_run(model()) == {ok};
}}

inline Input *input()
{{
    return {input}(model());
}}

inline const Output *output()
{{
    return {output}(model());
}}

inline Input to_input(float number)
{{
    return {to_input};
}}

inline float from_output(Output element)
{{
    return {from_output};
}}

}} // namespace benchmark

#endif
"""


class NotABenchmark(UsageError):
    template = "{model} is not a network of MLPerf Tiny: {reason}"
    hint = "--as source makes a package of any model"


class NoTerminal(UsageError):
    template = "board {board} has no terminal for MLPerf Tiny's runner"
    hint = (
        f"add {TERMINAL} with the functions of cmrt/terminal.h to its folder, or omit --board and "
        "write those of port.h in your own project"
    )


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark of mlcommons/tiny, by what its runner loads and reads.

    Attributes:
        name: the runner's: `ic01`.
        title: for people.
        shape: rows, columns and channels of what is loaded.
        outputs: elements of the model's output.
        data: type of the loaded numbers, of `Data` in benchmark.h.
        scale, zero: a loaded byte stands for (byte - zero) * scale, as the reference model has it.
    """

    name: str
    title: str
    shape: tuple[int, int, int]
    outputs: int
    data: str = "BYTES"
    scale: float = 1.0
    zero: int = 0

    @property
    def is_autoencoder(self) -> bool:
        """The result is the mean squared distance between output and input."""
        return self.outputs == math.prod(self.shape)


# Scales and zero points are those of the inputs of mlcommons/tiny's trained int8 models.
BENCHMARKS = (
    Benchmark("ic01", "image classification", (32, 32, 3), 10),
    Benchmark("vww01", "visual wake words", (96, 96, 3), 2, scale=1 / 255),
    Benchmark(
        *("kws01", "keyword spotting", (49, 10, 1), 12, "SIGNED_BYTES"), 0.5847029089927673, 83
    ),
    Benchmark("ad01", "anomaly detection", (1, 640, 1), 640, "FLOATS"),
    Benchmark(
        *("strww01", "streaming wake word", (30, 1, 40), 3, "SIGNED_BYTES"),
        *(0.0037007571663707495, -128),
    ),
)


@dataclass(frozen=True, slots=True)
class BoardFiles:
    """The files that make a whole image of the benchmark.

    Attributes:
        simulated: the memory of the board's simulators.
        ticks_per_second: of `cm_board_ticks`.
        flags: the compiler's, for the core.
    """

    board: Board
    simulated: Sequence[Region]
    ticks_per_second: int
    flags: Sequence[str]


def check_terminal(board: Board) -> None:
    """Raises NoTerminal if a board has no line to the runner."""
    if not (board.folder / TERMINAL).is_file():
        raise NoTerminal(board=board.name)


def benchmark_of(interface: PackageInterface) -> Benchmark:
    """The benchmark whose data fits a model's inputs and outputs.

    Raises:
        NotABenchmark: none does.
    """
    model = interface.plan.model
    if len(interface.inputs) != 1 or len(interface.outputs) != 1:
        raise NotABenchmark(model=model, reason="these have one input and one output")
    (given,), (result,) = interface.inputs, interface.outputs
    for benchmark in BENCHMARKS:
        if (given.count, result.count) == (math.prod(benchmark.shape), benchmark.outputs):
            return benchmark
    known = ", ".join(
        f"{each.name} {math.prod(each.shape):,} to {each.outputs}" for each in BENCHMARKS
    )
    raise NotABenchmark(
        model=model, reason=f"it turns {given.count:,} numbers into {result.count:,} ({known})"
    )


def mlperf_files(
    interface: PackageInterface, source: Mapping[str, bytes], board: BoardFiles | None
) -> dict[str, bytes]:
    """The benchmark's files by path, with those of a source package in a folder.

    Raises:
        NotABenchmark: the model does not fit any.
    """
    benchmark, name = benchmark_of(interface), interface.plan.model
    templates = paths.runtime() / _TEMPLATES
    values = {"name": name, "benchmark": benchmark, "board": board}
    files = {f"{name}/{path}": content for path, content in source.items()}
    files["benchmark.h"] = _header(benchmark, interface).encode()
    files |= _filled(templates, values)
    if board is not None:
        own = _filled(templates / "board", values)
        files |= {f"board/{path}": content for path, content in own.items()}
        for path, content in _board_files(board).items():
            files[f"board/{path}"] = content
    return files


def _board_files(chosen: BoardFiles) -> dict[str, bytes]:
    """Start-up and the board's own files, with the runtime's headers as `cmrt/`."""
    board, runtime = chosen.board, paths.runtime()
    start = [path for path in (runtime / "cortexm").iterdir() if path.suffix in (".c", ".h", ".S")]
    own = [path for path in board.folder.iterdir() if path.suffix in (".c", ".h", ".S")]
    sources = [*start, *own, *(runtime / path for path in _STARTUP)]
    files = {path.name: path.read_bytes() for path in sorted(sources)}
    headers = runtime / "include"
    for file in sources:  # their headers are all that port.cpp includes, too
        if file.suffix != ".S":
            for header in included(file):
                if header.is_relative_to(headers) and header.is_file():
                    files[header.relative_to(headers).as_posix()] = header.read_bytes()
    script = board.folder / link_script.FILE
    text = script.read_text() if script.is_file() else link_script.render(board, chosen.simulated)
    return files | {link_script.FILE: text.encode()}


def _header(benchmark: Benchmark, interface: PackageInterface) -> str:
    """benchmark.h"""
    from cmcompiler.emit.status import ok_status

    name = interface.plan.model
    (given,), (result,) = interface.inputs, interface.outputs
    steps = _steps(benchmark, name, given)
    rows, columns, channels = benchmark.shape
    to_input = f"{given.symbol}_quantize(number)" if given.has_steps else "number"
    from_output = f"{result.symbol}_dequantize(element)" if result.has_steps else "element"
    is_classifier = not benchmark.is_autoencoder
    return _BENCHMARK.format(
        name=name,
        macro=name.upper(),
        title=f"{benchmark.name}, {benchmark.title}",
        data=benchmark.data,
        rows=rows,
        columns=columns,
        channels=channels,
        zero=benchmark.zero,
        scale=benchmark.scale,
        row_step=steps[0],
        column_step=steps[1],
        channel_step=steps[2],
        outputs=benchmark.outputs,
        has_logits=str(is_classifier and not _has_softmax(interface)).lower(),
        is_autoencoder=str(benchmark.is_autoencoder).lower(),
        input_type=given.ctype,
        output_type=result.ctype,
        ok=ok_status(name.upper()),
        input=given.symbol,
        output=result.symbol,
        to_input=to_input,
        from_output=from_output,
    )


def _steps(benchmark: Benchmark, model: str, port: InterfacePort) -> tuple[int, int, int]:
    """Elements of the model's input from a row, column and channel to the next.

    Raises:
        NotABenchmark: its shape is another.
    """
    shape, record = benchmark.shape, port.record
    strides, step = [0] * len(record.shape), 1
    for axis in reversed(record.dim_order):
        strides[axis], step = step, step * record.shape[axis]
    sides = [(size, strides[axis]) for axis, size in enumerate(record.shape) if size > 1]
    rows, columns, channels = shape
    for order in ((0, 1, 2), (2, 0, 1)):
        wanted = [axis for axis in order if shape[axis] > 1]
        if [size for size, _ in sides] == [shape[axis] for axis in wanted]:
            found = dict(zip(wanted, (stride for _, stride in sides), strict=True))
            return found.get(0, 0), found.get(1, 0), found.get(2, 0)
    if len(sides) == 1:
        return columns * channels, channels, 1
    raise NotABenchmark(
        model=model,
        reason=f"its input is {'×'.join(map(str, record.shape))}; {benchmark.name} loads "
        f"{rows}×{columns}×{channels}",
    )


def _has_softmax(interface: PackageInterface) -> bool:
    """Whether the outputs are probabilities: the last step, but for a change of type."""
    kernels = [step.kernel for step in interface.plan.steps if step.is_call]
    return any(kernel.startswith("softmax") for kernel in kernels[-2:])


def _filled(folder: Path, values: Mapping[str, object]) -> dict[str, bytes]:
    """The files of a folder by name, templates filled."""
    files = {}
    for file in sorted(folder.iterdir()):
        if file.suffix == ".j2":
            files[file.stem] = fill(file, values).encode()
        elif file.is_file():
            files[file.name] = file.read_bytes()
    return files
