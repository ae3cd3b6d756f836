"""MLPerf Tiny's benchmark around packages, as MLCommons' runner drives it."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from harness.commands import Commands
from harness.packages import run
from harness.tflite_file import TfliteFile

from cmbuild.errors import UsageError
from cmbuild.packaging.mlperf import BENCHMARKS, benchmark_of, mlperf_files
from cmcompiler.emit.files import read_record
from cmcompiler.emit.folder import emit
from cmcompiler.emit.interface import PackageInterface
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate
from cmcompiler.isa import Isa
from cmcompiler.plan.planner import make_plan
from cmcompiler.tflite.reader import read_tflite

STAND_IN = Path(__file__).parent / "mlperf"
"""What the benchmark needs of a checkout of mlcommons/tiny."""


def keywords() -> bytes:
    """A network with the data of kws01: 49×10 features to 12 probabilities."""
    file, random = TfliteFile(), np.random.default_rng(7)
    features = file.tensor((1, 49, 10, 1), scale=0.5847029089927673, zero_point=83)
    row = file.tensor((1, 490), scale=0.5847029089927673, zero_point=83)
    shape = file.constant(np.array([1, 490], np.int32))
    weights = random.integers(-127, 128, (12, 490)).astype(np.int8)
    logits = file.tensor((1, 12), scale=0.1, zero_point=-4)
    scores = file.tensor((1, 12), scale=1 / 256, zero_point=-128)
    file.operator("RESHAPE", (features, shape), (row,))
    file.operator("FULLY_CONNECTED", (row, file.constant(weights, scale=1e-4), -1), (logits,))
    file.operator("SOFTMAX", (logits,), (scores,), beta=1.0)
    return file.write([features], [scores])


def negation() -> bytes:
    """A network with the data of ad01: 640 numbers to as many."""
    file = TfliteFile()
    numbers = file.tensor((1, 640), scale=0.4, zero_point=89)
    changed = file.tensor((1, 640), scale=0.35, zero_point=94)
    file.operator("ABS", (numbers,), (changed,))
    return file.write([numbers], [changed])


class Board:
    """The runner's side of a simulated board's line."""

    def __init__(self, terminal: Path) -> None:
        self._line = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
        os.set_blocking(self._line, False)

    def close(self) -> None:
        os.close(self._line)

    def answer(self, command: str = "") -> list[str]:
        """The lines of the answer to a command."""
        if command:
            os.write(self._line, f"{command}%".encode())
        text, end = b"", time.monotonic() + 60
        while not text.endswith(b"m-ready\r\n"):
            assert time.monotonic() < end, text
            try:
                text += os.read(self._line, 4096)
            except BlockingIOError:
                time.sleep(0.002)
        return text.decode().split("\r\n")[:-2]

    def load(self, data: bytes) -> None:
        """As MLCommons' runner does: 31 bytes a command."""
        assert self.answer(f"db load {len(data)}") == [f"m-[Expecting {len(data)} bytes]"]
        said = [self.answer(f"db {data[i : i + 31].hex()}") for i in range(0, len(data), 31)]
        assert said[-1] == ["m-load-done"] and not any(said[:-1])


@contextmanager
def simulated(image: Path, machine: str) -> Iterator[Board]:
    """A machine of QEMU with its UART on a pseudo-terminal, stopped until somebody listens."""
    words = ("-M", machine, "-display", "none", "-monitor", "stdio", "-serial", "pty", "-S")
    machine_process = subprocess.Popen(
        ["qemu-system-arm", *words, "-kernel", str(image)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert machine_process.stdin is not None and machine_process.stdout is not None
    try:
        place = None
        while place is None:
            place = re.search(r"/dev/pts/\d+", machine_process.stdout.readline())
        board = Board(Path(place[0]))
        machine_process.stdin.write("cont\n")
        machine_process.stdin.flush()
        yield board
        board.close()
    finally:
        machine_process.kill()
        machine_process.communicate()


def image(cmbuild: Commands, model: bytes, *words: str) -> Path:
    """The benchmark's image, as a user makes it."""
    (cmbuild.folder / "model.tflite").write_bytes(model)
    made = cmbuild("package", "model.tflite", "--as", "mlperf-tiny", "-o", "out", *words)
    assert made.exit_code == 0, made.stderr
    out = cmbuild.folder / "out"
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={out}/board/toolchain.cmake"
    build = ("-G", "Ninja", "-S", out, "-B", out / "build", f"-DMLPERF_TINY={STAND_IN}", toolchain)
    run("cmake", *build)
    run("cmake", "--build", out / "build")
    (made_image,) = (out / "build").glob("*_mlperf.elf")
    return made_image


def expected(model: bytes, sample: npt.NDArray[np.int8]) -> npt.NDArray[np.float64]:
    graph = build_graph(read_tflite(model))
    (output,), (port,) = evaluate(graph, [sample]).outputs, graph.outputs
    assert port.quantization is not None
    steps = output.astype(np.float64).reshape(-1) - port.quantization.zero_point
    return np.asarray(steps * port.quantization.scale)


def results(lines: list[str]) -> list[float]:
    (line,) = (each for each in lines if each.startswith("m-results-["))
    return [float(number) for number in line[len("m-results-[") : -1].split(",")]


def test_a_simulated_board_answers_the_runner(cmbuild: Commands) -> None:
    """From m-ready to results, which are the same after any number of runs."""
    model = keywords()
    sample = np.random.default_rng(3).integers(-128, 128, (1, 49, 10, 1)).astype(np.int8)
    made = image(cmbuild, model, "--board", "mps2-an386", "--name", "kws")
    with simulated(made, "mps2-an386") as board:
        start = board.answer()
        assert start[0] == "m-timestamp-mode-performance" and start[-1] == "m-init-done"
        assert board.answer("name") == ["m-name-dut-[unspecified]"]
        assert board.answer("profile")[-1] == "m-model-[kws01]"
        assert board.answer("nothing") == ["e-[Unknown command: nothing]"]
        short = board.answer("db load 3"), board.answer("db 010203"), board.answer("infer 1 0")
        assert "e-[Loaded 3 bytes, expected 490]" in short[2]
        board.load(sample.tobytes())
        assert board.answer("db print") == [sample.tobytes().hex()]
        lines = board.answer("infer 20 5")
        wanted = expected(model, sample)
        assert results(lines) == pytest.approx(wanted, abs=0.00051)
        assert results(board.answer("results")) == results(lines)
        first, second = (int(each[9:]) for each in lines if each.startswith("m-lap-us-"))
        assert 0 < (second - first) % 2**32 < 60_000_000


@pytest.mark.long
def test_anomalies_are_a_mean_squared_distance(cmbuild: Commands) -> None:
    model, numbers = negation(), np.linspace(-60, 14, 640, dtype=np.float32)
    made = image(cmbuild, model, "--board", "mps2-an505", "--name", "ad")
    with simulated(made, "mps2-an505") as board:
        board.answer()
        board.load(numbers.tobytes())
        (distance,) = results(board.answer("infer 1 0"))
    steps = np.clip(np.rint(numbers / np.float32(0.4)) + 89, -128, 127).astype(np.int8)
    wanted = np.mean((expected(model, steps.reshape(1, 640)) - numbers) ** 2)
    assert distance == pytest.approx(wanted, rel=1e-5, abs=0.001)


def interface(folder: Path, shape: tuple[int, ...]) -> PackageInterface:
    """Of a package of `keywords`, were its input of another shape."""
    emit(make_plan(build_graph(read_tflite(keywords())), Isa.SCALAR), folder, name="kws")
    made = PackageInterface.of(read_record(folder))
    (port,) = made.inputs
    order = tuple(range(len(shape)))
    record = port.record.model_copy(update={"shape": shape, "dim_order": order})
    return replace(made, inputs=(replace(port, record=record),))


@pytest.mark.parametrize(
    ("shape", "steps"),
    [
        ((1, 32, 32, 3), (96, 3, 1)),
        ((1, 3, 32, 32), (32, 1, 1024)),
        ((3072,), (96, 3, 1)),
        ((1, 30, 1, 40), (40, 0, 1)),
        ((1, 40, 30, 1), (1, 0, 30)),
        ((1, 1, 49, 10), (10, 1, 0)),
    ],
)
def test_data_goes_to_where_the_model_has_it(
    shape: tuple[int, ...], steps: tuple[int, int, int], tmp_path: Path
) -> None:
    made = interface(tmp_path, shape)
    (benchmark,) = (b for b in BENCHMARKS if np.prod(b.shape) == np.prod(shape))
    (result,) = made.outputs
    record = result.record.model_copy(update={"shape": (1, benchmark.outputs)})
    made = replace(made, outputs=(replace(result, record=record),))
    assert benchmark_of(made) == benchmark
    text = mlperf_files(made, {}, None)["benchmark.h"].decode()
    row, column, channel = steps
    assert f"ROW_STEP = {row}, COLUMN_STEP = {column}, CHANNEL_STEP = {channel};" in text


def test_a_package_without_a_board_has_the_port_to_write(tmp_path: Path) -> None:
    files = mlperf_files(interface(tmp_path, (1, 49, 10, 1)), {"kws.c": b""}, None)
    own = {"CMakeLists.txt", "benchmark.h", "port.h", "submitter_implemented.cpp"}
    assert files.keys() == {*own, "kws/kws.c"}


def test_other_shapes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"its input is 1×5×98×1; kws01 loads 49×10×1"):
        mlperf_files(interface(tmp_path, (1, 5, 98, 1)), {}, None)
    with pytest.raises(UsageError, match=r"it turns 491 numbers into 12 \(ic01 3,072 to 10, "):
        mlperf_files(interface(tmp_path, (491,)), {}, None)
