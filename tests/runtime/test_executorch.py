"""ExecuTorch's runtime as executor: the real one on this computer, and compiled for every core."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from harness.programs import program_bytes
from harness.upstream import C10, INCLUDE, NATIVE

from cmbuild import paths
from cmbuild.executorch.runtime import Pools
from cmbuild.launchers.base import Refused
from cmbuild.launchers.execution import Interface, Request, Watch, execute
from cmbuild.verify.comparison import to_logical, to_memory
from cmcompiler.executorch.plan import make_executorch_plan
from cmcompiler.executorch.source import emit_executorch
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate
from cmcompiler.isa import Isa
from cmcompiler.pte.methods import find_method
from cmcompiler.pte.reader import read_program

ENOUGH = Pools(method=65536, temporary=4096)


class Built:
    """A program of tests/data/programs, built with ExecuTorch's own runtime."""

    def __init__(self, place, name: str, folder: Path, pools: Pools | None) -> None:
        self.place = place
        self.folder = folder
        self.program = read_program(program_bytes(name))
        self.graph = build_graph(self.program)
        plan = make_executorch_plan(find_method(self.program, "forward"), self.graph, Isa.SCALAR)
        model = folder / "model"
        model.mkdir(parents=True)
        self.record = emit_executorch(plan, Isa.SCALAR, model, program_bytes(name), name)
        options = NATIVE.cmake((), pools)
        build = place.builder.runner
        self.image = build(place.board, place.library, model, folder / "build", options)

    def samples(self, count: int) -> list[list[np.ndarray]]:
        generator = np.random.default_rng(0)
        return [
            [
                generator.integers(0, 2, port.shape).astype(port.tensor.dtype)
                if port.tensor.dtype == np.bool_
                else generator.standard_normal(port.shape).astype(port.tensor.dtype)
                for port in self.graph.inputs
            ]
            for _ in range(count)
        ]

    def run(self, samples, watches=()):
        shutil.rmtree(self.folder / "streams", ignore_errors=True)
        raw = [
            [to_memory(a, port) for a, port in zip(sample, self.record.inputs, strict=True)]
            for sample in samples
        ]
        return execute(
            self.place.launcher,
            self.place.builder.processes,
            self.image,
            Interface.of(self.record),
            Request(raw, watches=watches),
            folder=self.folder / "streams",
            timeout=60,
            log=self.folder / "log",
        )


@pytest.fixture(scope="module")
def load(bench, tmp_path_factory):
    @cache
    def get(name: str, pools: Pools | None = ENOUGH) -> Built:
        return Built(bench("native", "scalar"), name, tmp_path_factory.mktemp("executorch"), pools)

    return get


@pytest.mark.parametrize("name", ["two_methods", "scalars", "control_flow"])
def test_the_real_runtime_computes_what_the_reference_does(load, name):
    built = load(name)
    samples = built.samples(3)
    execution = built.run(samples)
    for sample, outputs in zip(samples, execution.outputs, strict=True):
        expected = evaluate(built.graph, sample).outputs
        for data, port, reference in zip(outputs, built.record.outputs, expected, strict=True):
            np.testing.assert_array_equal(to_logical(data, port), reference)


def test_what_an_instruction_wrote_can_be_seen(load):
    built = load("two_methods")
    step = next(step for step in built.record.steps if step.writes)
    (written,) = step.writes
    watch = Watch(built.record.steps.index(step), written.place.offset, written.place.bytes)
    samples = built.samples(1)
    ((seen,),) = built.run(samples, [watch]).traces
    tensor = next(
        tensor
        for node in built.graph.nodes
        for tensor in node.outputs
        if tensor.name == written.name
    )
    kept = evaluate(built.graph, samples[0], keep=[tensor]).tensors[tensor]
    np.testing.assert_array_equal(np.frombuffer(seen, kept.dtype).reshape(kept.shape), kept)


def test_a_dry_run_finds_the_size_of_each_pool(load):
    dry = load("two_methods", None)
    used = {pool.name: pool.used for pool in dry.run(dry.samples(1)).pools}
    assert used["method"] > 0
    exact = load("two_methods", Pools(method=used["method"], temporary=used["temporary"]))
    method, temporary = exact.run(exact.samples(1)).pools
    assert (method.used, method.size) == (used["method"], used["method"])
    assert temporary.used == used["temporary"] <= temporary.size < 1024


def test_a_pool_that_is_too_small_is_named(load):
    dry = load("two_methods", None)
    (method, _) = dry.run(dry.samples(1)).pools
    small = load("two_methods", Pools(method=method.used - 1, temporary=0))
    with pytest.raises(Refused, match="the method pool is too small: loading the method failed"):
        small.run(small.samples(1))


def test_a_kernel_that_is_not_linked_is_named(load):
    built = load("two_inputs")
    with pytest.raises(Refused) as caught:
        built.run(built.samples(1))
    missing = caught.value.message.partition("no kernel is linked for ")[2].split(", ")
    assert missing == list(dict.fromkeys(step.kernel for step in built.record.steps))


def flags(cpu: str, isa: str) -> list[str]:
    """As in runtime/cmake/target.cmake."""
    file = paths.runtime() / "cmake" / "target.cmake"
    definitions = [f"-DTARGET_CPU={cpu}", f"-DTARGET_ISA={isa}", "-DTARGET_DIALECT=gcc"]
    command = ["cmake", *definitions, "-P", file]
    return subprocess.run(command, check=True, capture_output=True, text=True).stderr.split()


@pytest.mark.parametrize(
    ("cpu", "isa"),
    [
        ("cortex-m0plus", "scalar"),
        ("cortex-m33", "dsp"),
        ("cortex-m55", "mve"),
        ("cortex-m85", "mve"),
    ],
)
def test_the_executor_compiles_for_every_core_without_a_warning(cpu, isa, tmp_path):
    program = read_program(program_bytes("two_inputs"))
    plan = make_executorch_plan(
        find_method(program, "forward"), build_graph(program), Isa.named(isa)
    )
    emit_executorch(plan, Isa.named(isa), tmp_path, program_bytes("two_inputs"), "two_inputs")
    runtime = paths.runtime()
    subprocess.run(
        [
            *("arm-none-eabi-g++", *flags(cpu, isa)),
            *("-std=c++17", "-O2", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"),
            *("-Wall", "-Wextra", "-Wconversion", "-Werror"),
            *("-DC10_USING_CUSTOM_GENERATED_MACROS", "-DET_LOG_ENABLED=0"),
            *("-DCM_METHOD_POOL_BYTES=4096", "-DCM_TEMPORARY_POOL_BYTES=0"),
            *("-isystem", INCLUDE, "-isystem", C10, "-I", runtime / "include", "-I", tmp_path),
            *("-c", *sorted((runtime / "runner").glob("*.cpp"))),
        ],
        cwd=tmp_path,
        check=True,
    )
