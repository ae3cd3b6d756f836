"""Every toolchain compiles for every core without a warning and computes the same bits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from harness.branches import branched
from harness.examples import Example
from harness.exports import exported
from harness.libraries import builder, library
from harness.runtime import Machine, Runtime

from cmbuild import paths
from cmbuild.boards.board import Board
from cmbuild.catalog import find_board
from cmbuild.conformance.harness import KernelHarness
from cmbuild.launchers.registry import launchers_of
from cmbuild.process import Processes
from cmbuild.toolchain.toolchains import CROSS, cpu_flags
from cmcompiler.frontend.job import PROGRAM, SAMPLES
from cmcompiler.frontend.vectors import Samples
from cmcompiler.importer.build import build_graph
from cmcompiler.isa import Isa
from cmcompiler.pte.reader import read_program
from cmcompiler.target import BEST_ISA, Target

RUNTIME = paths.runtime()
DEFAULT, *ALTERNATIVES = CROSS

TARGETS = [Target(cpu, isa) for cpu, best in BEST_ISA.items() for isa in Isa if isa <= best]
BEST = [Target(cpu, isa) for cpu, isa in BEST_ISA.items()]
COMPILED = [
    *((DEFAULT, target) for target in TARGETS),
    *((name, target) for name in ALTERNATIVES for target in BEST),
]

BOARDS = (
    *("microbit", "mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505"),
    *("corstone300", "corstone320"),
)
"""One for each core with a simulator."""
WHOLE = "cortex-m55"
"""The core with all instruction sets."""
REPEATED = ("cortex-m0", "cortex-m35p", "cortex-m52", "cortex-m85")
"""Cores with the architecture and extensions of another one."""
ALTERNATIVE = "clang"
"""The other compiler; Zig's is Clang, too, and a test of `cmbuild run` compiles with it."""


def every(name: str, target: Target, *values: object) -> ParameterSet:
    """Values for a test; without --long, another toolchain and a lower set are those of one core.

    Nor are cores that repeat another taken.
    """
    is_whole = target.cpu == WHOLE
    is_apart = is_whole or (target in BEST and target.cpu not in REPEATED)
    is_short = is_apart if name == DEFAULT else is_whole and name == ALTERNATIVE
    return pytest.param(*values, marks=[] if is_short else [pytest.mark.long])


def target_of(board: Board) -> Target:
    return Target(board.cpu, board.isas[0])


@pytest.mark.parametrize(("name", "target"), [every(*each, *each) for each in COMPILED], ids=str)
def test_the_library_compiles_without_a_warning(name: str, target: Target):
    made = library(builder(name, target))
    assert made.stat().st_size > 0
    best: dict[str, str] = {}
    for level in (level for level in Isa if level <= target.isa):
        for path in RUNTIME.glob(f"isa/{level.label}/*.c"):
            best[path.stem] = level.label
    commands = made.with_name("build.ninja").read_text()
    linked = re.findall(r"isa/(\w+)/(\w+)\.c\.obj: ", commands)
    assert sorted(linked) == sorted((level, name) for name, level in best.items())


@pytest.mark.parametrize("cpu", ["cortex-m0plus", "cortex-m4"])
def test_another_compiler_has_nothing_to_say_of_lower_sets(cpu: str, tmp_path: Path) -> None:
    """It reads what it would compile."""
    target = Target.parse(cpu)
    chosen = builder(ALTERNATIVE, target).toolchain
    best = {
        path.stem: path
        for level in (level for level in Isa if level <= target.isa)
        for path in RUNTIME.glob(f"isa/{level.label}/*.c")
    }
    processes, log = Processes(), tmp_path / "log"
    asked = [*builder(DEFAULT, target).toolchain.words, *cpu_flags(DEFAULT, target)]
    asked += ["-M", "-include", "math.h", "-x", "c", "/dev/null"]
    (libc,) = re.findall(r"\S+/math\.h", processes.run(asked, log=log, timeout=60).output)
    headers = ("-isystem", Path(libc).parent, "-I", RUNTIME / "include")
    strict = ("-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror")
    words = [*chosen.words, *cpu_flags(ALTERNATIVE, target), "-fsyntax-only", *strict, *headers]
    files = [*(RUNTIME / "kernels").glob("*.c"), *best.values()]
    processes.run([*words, *files], log=log, timeout=300)


# What the runtime and start-up code ask the compiler about the core.
QUESTIONS = ("__ARM_ARCH", "__ARM_FEATURE_DSP", "__ARM_FEATURE_MVE", "__ARM_PCS_VFP", "__SOFTFP__")


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_all_toolchains_mean_the_same_core(target: Target, tmp_path: Path):
    answers = []
    for name in CROSS:
        chosen = builder(name, target).toolchain
        words = [*chosen.words, *cpu_flags(name, target), "-dM", "-E", "-x", "c", "/dev/null"]
        said = Processes().run(words, log=tmp_path / "log", timeout=60).output
        macros = dict(re.findall(r"#define (\w+) (\S+)", said))
        precision = int(macros.get("__ARM_FP", "0"), 0) & 0b1100  # single, double
        answers.append(({each: macros.get(each) for each in QUESTIONS}, precision))
    assert answers[0] == answers[1]
    assert answers[0][0] == answers[2][0]
    assert ("__ARM_FEATURE_MVE" in macros) == (target.isa is Isa.MVE)


def runtime(name: str, board_name: str, folder: Path) -> Runtime:
    board = find_board(board_name)
    target = target_of(board)
    made_by = builder(name, target)
    image = made_by.kernel_harness(board, library(made_by), folder)
    launcher = next(each for each in launchers_of(board) if each.name == "qemu")
    harness = KernelHarness(made_by.processes, launcher, image)
    return Runtime(Machine(f"{board_name} by {name}", harness, target.isa, folder))


@pytest.mark.parametrize(
    ("name", "board"),
    [every(name, target_of(find_board(board)), name, board) for name in CROSS for board in BOARDS],
)
def test_every_core_computes_the_reference(name: str, board: str, tmp_path: Path):
    """Op by op, so all toolchains compute the same bits as this computer."""
    place = runtime(name, board, tmp_path)
    models = ["ds_cnn"] + ([] if name == DEFAULT else ["mlp"])  # tests of the zoo have all
    examples = [branched(True, True), branched(False, True, -1)]
    for folder in exported(*models):
        graph = build_graph(read_program((folder / PROGRAM).read_bytes()))
        examples.append(Example(graph, Samples.load(folder / SAMPLES)[0], folder.name))
    place.check(*examples)
