"""Every toolchain on every core: it compiles without a warning, and computes the same bits."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.branches import branched
from harness.examples import Example
from harness.exports import exported
from harness.runtime import Runtime

from cmbuild import paths
from cmbuild.catalog import find_board
from cmbuild.conformance.harness import KernelHarness
from cmbuild.launchers.registry import launchers_of
from cmbuild.process import Processes
from cmbuild.toolchain import tools
from cmbuild.toolchain.cmake import LIBRARY, Builder
from cmbuild.toolchain.toolchains import CROSS, Toolchain, cpu_flags, find_toolchain
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
"""One for each core that there is a simulator for."""

Library = Callable[[str, Target], Path]


@pytest.fixture(scope="module")
def toolchain(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Toolchain]:
    log = tmp_path_factory.mktemp("toolchains") / "log"
    found = {name: find_toolchain(name, Processes(), log) for name in CROSS}
    return found.__getitem__


@pytest.fixture(scope="module")
def library(
    toolchain: Callable[[str], Toolchain], tmp_path_factory: pytest.TempPathFactory
) -> Library:
    """Folder of a library, which is built when it is first asked for: warnings are errors."""
    made: dict[tuple[str, Target], Path] = {}

    def get(name: str, target: Target) -> Path:
        if (name, target) not in made:
            folder = tmp_path_factory.mktemp(f"{name}-{target}")
            chosen, run = toolchain(name), Processes().run
            strict = "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON"
            configure = [tools.find("cmake"), "-G", "Ninja", "-S", RUNTIME, "-B", folder, strict]
            for argv in ([*configure, *chosen.cmake(target)], [tools.find("ninja"), "-C", folder]):
                run(argv, log=folder / "log", timeout=300, env=chosen.environment)
            made[name, target] = folder
        return made[name, target]

    return get


@pytest.mark.parametrize(("name", "target"), COMPILED, ids=str)
def test_the_library_compiles_without_a_warning(name: str, target: Target, library: Library):
    folder = library(name, target)
    assert (folder / LIBRARY).stat().st_size > 0
    best: dict[str, str] = {}
    for level in (level for level in Isa if level <= target.isa):
        for path in RUNTIME.glob(f"isa/{level.label}/*.c"):
            best[path.stem] = level.label
    commands = (folder / "build.ninja").read_text()
    linked = re.findall(r"isa/(\w+)/(\w+)\.c\.obj: ", commands)
    assert sorted(linked) == sorted((level, name) for name, level in best.items())


# What the runtime and start-up ask the compiler about the core.
QUESTIONS = ("__ARM_ARCH", "__ARM_FEATURE_DSP", "__ARM_FEATURE_MVE", "__ARM_PCS_VFP", "__SOFTFP__")


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_all_toolchains_mean_the_same_core(
    target: Target, toolchain: Callable[[str], Toolchain], tmp_path: Path
):
    answers = []
    for name in CROSS:
        chosen = toolchain(name)
        words = [*chosen.words, *cpu_flags(name, target), "-dM", "-E", "-x", "c", "/dev/null"]
        said = Processes().run(words, log=tmp_path / "log", timeout=60).output
        macros = dict(re.findall(r"#define (\w+) (\S+)", said))
        precision = int(macros.get("__ARM_FP", "0"), 0) & 0b1100  # single, double
        answers.append(({each: macros.get(each) for each in QUESTIONS}, precision))
    assert answers[0] == answers[1]
    assert answers[0][0] == answers[2][0]
    assert ("__ARM_FEATURE_MVE" in macros) == (target.isa is Isa.MVE)


def runtime(name: str, board_name: str, chosen: Toolchain, library: Library, folder: Path):
    board, processes = find_board(board_name), Processes()
    target = Target(board.cpu, board.isas[0])
    builder = Builder(processes, chosen, target)
    image = builder.kernel_harness(board, library(name, target) / LIBRARY, folder)
    launcher = next(each for each in launchers_of(board) if each.name == "qemu")
    return Runtime(KernelHarness(processes, launcher, image), target.isa, folder)


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", CROSS)
def test_every_core_computes_the_reference(
    name: str,
    board: str,
    toolchain: Callable[[str], Toolchain],
    library: Library,
    tmp_path: Path,
):
    """Op by op: so all toolchains give the same bits, and those of this computer."""
    place = runtime(name, board, toolchain(name), library, tmp_path)
    models = ["ds_cnn", "mlp"] + (["mv2", "resnet8"] if board == "corstone300" else [])
    if name == DEFAULT:
        models = models[:1]  # the tests of the zoo have all of them
    examples = [branched(True, True), branched(False, True, -1)]
    for folder in exported(*models):
        graph = build_graph(read_program((folder / PROGRAM).read_bytes()))
        examples.append(Example(graph, Samples.load(folder / SAMPLES)[0], folder.name))
    place.check(*examples)
