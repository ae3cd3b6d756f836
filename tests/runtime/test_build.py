"""The runtime library and images: every core compiles, sizes are right, overflows are reported."""

from __future__ import annotations

import json
import re

import pytest
from harness.exports import exported, zoo_models
from harness.figures import FIGURES, known
from harness.toy_image import write_toy_model

from cmbuild import paths
from cmbuild.boards.memory import Memory
from cmbuild.errors import ProcessFailed
from cmbuild.firmware.capacity import DoesNotFit, check_sizes
from cmbuild.image import elf
from cmbuild.process import Processes
from cmbuild.sizing.estimate import ProgramSize
from cmbuild.sizing.linking import link
from cmbuild.toolchain import tools
from cmbuild.toolchain.toolchains import find_toolchain
from cmcompiler.frontend.job import PROGRAM
from cmcompiler.importer.build import build_graph
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.reader import read_program
from cmcompiler.target import BEST_ISA, Target

RUNTIME = paths.runtime()
TABLE = json.loads((RUNTIME / "cmake" / "cpus.json").read_text())
DEPTHWISE = "depthwise_conv2d_3x3"
CORES = {"mps2-an505": "cortex-m33", "corstone300": "cortex-m55"}


def configure(folder, *options):
    """The commands of a build of the runtime."""
    argv = [tools.find("cmake"), "-G", "Ninja", "-S", RUNTIME, "-B", folder, *options]
    Processes().run(argv, log=folder / "log", timeout=120)
    return (folder / "build.ninja").read_text()


def test_every_core_is_known():
    assert TABLE.keys() == BEST_ISA.keys()


def test_this_computer_compiles_without_a_warning(bench):
    """The library of each bench is built with warnings as errors."""
    assert bench("native", "scalar").library.stat().st_size > 0


def test_the_preset_works_by_hand(tmp_path):
    processes, folder = Processes(), tmp_path / "build"
    preset = ("--preset", "arm-baremetal", "-DTARGET_CPU=cortex-m0plus")
    processes.run(
        [tools.find("cmake"), *preset, "-B", folder],
        cwd=RUNTIME,
        log=tmp_path / "log",
        timeout=60,
    )
    processes.run([tools.find("ninja"), "-C", folder], log=tmp_path / "log", timeout=120)
    assert (folder / "libcmrt.a").exists()


def test_loops_over_elements_are_compiled_for_speed_and_the_rest_for_size(tmp_path):
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={RUNTIME}/cmake/arm-none-eabi-gcc.cmake"
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "scale.c").write_text("extern int scale;\n")
    own = f"-DCMRT_KERNELS={tmp_path / 'own'}"
    commands = configure(tmp_path / "build", toolchain, "-DTARGET_CPU=cortex-m33", own)
    compiled = re.compile(r"^build \S+?(\w+/\w+)\.c\.obj:.*?^  FLAGS = (.*?)$", re.M | re.S)
    levels = {file: re.findall(r"-O\w", flags)[-1] for file, flags in compiled.findall(commands)}
    fast = {"dsp/gemm_s8", "dsp/depthwise_s8", "kernels/unary", "own/scale"}
    fast.add("runner/step")  # each turn of a stream
    small = {"kernels/add", "kernels/avg_pool2d", "kernels/conv2d", "runner/text"}
    assert {levels[file] for file in fast} == {"-O2"}
    assert {levels[file] for file in small} == {"-Os"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-DTARGET_CPU=cortex-m99"], "TARGET_CPU 'cortex-m99' is not a core"),
        ([], "TARGET_CPU '' is not a core"),
        (["-DTARGET_CPU=cortex-m4", "-DTARGET_ISA=mve"], "does not have TARGET_ISA 'mve'"),
    ],
)
def test_a_wrong_target_is_refused(options, message, tmp_path):
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={RUNTIME}/cmake/arm-none-eabi-gcc.cmake"
    with pytest.raises(ProcessFailed):
        configure(tmp_path, toolchain, *options)
    assert message in " ".join((tmp_path / "log").read_text().split())


def test_sizes_of_an_image(bench, tmp_path):
    place = bench("corstone300", "mve")
    model = write_toy_model(tmp_path / "model", weights=1000)
    image = place.builder.runner(place.board, place.library, model, tmp_path / "build")
    sizes = elf.sizes(image)
    assert (sizes.weights, sizes.arena, sizes.stack) == (1000, 176, place.board.stack)
    assert sizes.code < 6000
    assert sizes.static <= 16  # where rows come from


@pytest.mark.parametrize(
    ("board", "target", "names"),
    [
        ("corstone300", "cortex-m55 mve", ("conv2d_deep", "conv2d_deep_half_up")),
        ("corstone300", "cortex-m55 mve", ("conv2d_deep", "conv2d_shallow")),
        ("corstone300", "cortex-m55 mve", ("linear_shallow", "linear_shallow_half_up")),
        ("corstone300", "cortex-m55 mve", (DEPTHWISE, f"{DEPTHWISE}_half_up")),
        ("corstone300", "cortex-m55 mve", (DEPTHWISE, f"{DEPTHWISE}_stride_2")),
        ("mps2-an505", "cortex-m33 dsp", (DEPTHWISE, f"{DEPTHWISE}_half_up")),
        ("mps2-an505", "cortex-m33 dsp", (DEPTHWISE, f"{DEPTHWISE}_stride_2")),
    ],
)
def test_an_image_has_the_loops_that_its_plan_names(board, target, names, bench, tmp_path):
    cpu, isa = target.split()
    library = bench(board, isa).library
    processes, log = Processes(), tmp_path / "log"
    toolchain = find_toolchain("gcc", processes, log)
    one, other, both = (
        link(
            [library],
            [f"cm_{name}" for name in linked],
            toolchain,
            Target.parse(cpu, isa),
            processes=processes,
            log=log,
        ).code
        for linked in (names[:1], names[1:], names)
    )
    assert both > max(one, other) + 300


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("board", "cpu"),
    [
        ("mps2-an505", "cortex-m33"),
        ("corstone300", "cortex-m55"),
        ("microbit", "cortex-m0plus"),
    ],
)
@pytest.mark.parametrize("model", zoo_models(known("code")))
def test_the_plan_and_its_kernels_are_small(board, cpu, model, bench, tmp_path):
    (folder,) = exported(model)
    target = Target.parse(cpu)
    graph = build_graph(read_program((folder / PROGRAM).read_bytes()), io="int8")
    size = ProgramSize.of(make_plan(graph, target.isa))
    processes, log = Processes(), tmp_path / "log"
    code = link(
        [bench(board, target.isa.label).library],
        [f"cm_{kernel}" for kernel in size.kernels],
        find_toolchain("gcc", processes, log),
        target,
        processes=processes,
        log=log,
    ).code
    assert size.tables + code <= FIGURES[model].code[target.isa.label]


def test_an_image_depends_on_its_sources_only(bench, tmp_path):
    place = bench("corstone300", "mve")
    images = []
    for folder in (tmp_path / "one", tmp_path / "another one"):
        model = write_toy_model(folder / "model")
        image = place.builder.runner(place.board, place.library, model, folder / "build")
        images.append(elf.loaded(image))
    assert images[0] == images[1]


def test_weights_that_do_not_fit_say_by_how_much(bench, tmp_path):
    place = bench("corstone300", "mve")
    model = write_toy_model(tmp_path / "model", weights=(8 << 20) + 1000)
    with pytest.raises(DoesNotFit) as error:
        place.builder.runner(place.board, place.library, model, tmp_path / "build")
    message = "8,389,608 bytes in qspi of corstone300, 1,000 bytes over"
    assert message in error.value.message


def test_sizes_are_checked_before_the_build(bench):
    board = bench("corstone300", "mve").board
    sram = board.regions["sram"].size
    check_sizes(board, constants=board.regions["qspi"].size, arena=sram)
    with pytest.raises(
        DoesNotFit, match=r"the arena needs 4,194,314 bytes in sram .* 10 bytes over"
    ):
        check_sizes(board, constants=0, arena=sram + 10)
    check_sizes(bench("native", "scalar").board, constants=1 << 30, arena=1 << 30)
    assert board.capacity(Memory.FLASH) == (8 << 20) + (512 << 10)
