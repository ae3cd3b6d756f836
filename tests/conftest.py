"""Fixtures for all tests."""

import gc
import os
import signal
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from harness import compiler_cache
from harness.images import kernel_harness
from harness.runtime import Machine, Runtime
from hypothesis import HealthCheck, settings

from cmcompiler.isa import Isa

# A busy machine breaks nothing; and the same tree is good or bad each time it is looked at.
# `--hypothesis-profile search` tries other examples at every run.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("search"), derandomize=True)
settings.load_profile("same")

os.environ |= compiler_cache.variables()
os.environ["CMBUILD_WARM"] = "off"  # tests leave no process behind
# Threads of small tensors wait for each other longer than they compute, where processors are busy.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

# A shell starts what it does not wait for with SIGINT ignored, which all children would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

collect_ignore = ["data"]
"""Tests among the data are run by tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run tests marked `long` too")
    parser.addoption("--quick", action="store_true", help="only what needs no torch, in minutes")
    parser.addoption("--rewrite", action="store_true", help="write the lists of README and docs")


def pytest_configure(config: pytest.Config) -> None:
    """Imports torch before any module of tests, so that it is seeded before their weights.

    A process that only hands tests to others needs none.
    """
    hands_on = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if not config.getoption("quick") and not hands_on:
        import_module("torch")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--quick`, modules of tests that need torch or Arm's compiler are not imported."""
    if config.getoption("quick"):
        # Reads every module of the project, which other runs need not.
        from harness.quick import needs_more

        return needs_more(collection_path) or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects long tests, unless they are asked for or only listed, and what is not quick."""
    if config.getoption("quick"):
        others = [item for item in items if not _is_quick(item)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]
    if config.getoption("long") or config.option.collectonly:
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in set(long)]


def pytest_collection_finish() -> None:
    """Keeps torch's objects and 10,000 tests out of every later collection of garbage."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Else libraries in C++ complain of objects that are never freed."""
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collectstart(collector: pytest.Collector) -> None:
    """Weights made while a module is imported are the same in every process.

    torch seeds itself from the clock.
    """
    if isinstance(collector, pytest.Module):
        _seed()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Nor do those that a test makes depend on the tests before it, nor what Ctrl-C does."""
    _seed()
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_quick(item: pytest.Item) -> bool:
    """Whether a test builds for no board."""
    for_boards = {"cortex_m7", "machine", "without_dsp"}
    return not isinstance(item, pytest.Function) or for_boards.isdisjoint(item.fixturenames)


def _seed() -> None:
    """Seeds torch, if this process uses it."""
    if (torch := sys.modules.get("torch")) is not None:
        # torch.manual_seed also formats the stack, three times, for devices that may come.
        torch.default_generator.manual_seed(0)


RUNTIMES = {
    "native": ("native", "scalar"),
    "scalar": ("mps2-an386", "scalar"),
    "dsp": ("mps2-an386", "dsp"),
    "mve": ("corstone300", "mve"),
}
"""Board and instruction set; `native` is this computer under address and UB sanitizers.

QEMU starts a Cortex-M4 in a third of the time that it takes for a Cortex-M55.
"""


@pytest.fixture(scope="session")
def runtime(pytestconfig: pytest.Config, machine_of: Callable[[str, str], Machine]) -> Runtime:
    """Every kernel of every instruction set, ready to run; with `--quick`, on this computer."""
    names = ["native"] if pytestconfig.getoption("quick") else list(RUNTIMES)
    return Runtime(*(machine_of(*RUNTIMES[name]) for name in names))


# A module at a time: in a session's scope, pytest puts all tests of one machine before those of the
# next, and each module's own fixtures are made four times.
@pytest.fixture(scope="module", params=RUNTIMES)
def machine(request: pytest.FixtureRequest, machine_of: Callable[[str, str], Machine]) -> Machine:
    """Each of them: for tests of what a machine says."""
    return machine_of(*RUNTIMES[request.param])


@pytest.fixture(scope="session")
def native(machine_of: Callable[[str, str], Machine]) -> Runtime:
    """This computer alone: for what does not depend on an instruction set."""
    return Runtime(machine_of(*RUNTIMES["native"]))


@pytest.fixture(scope="session")
def cortex_m7(machine_of: Callable[[str, str], Machine]) -> Runtime:
    """For what has other inner loops on this core than on others with the DSP extension."""
    return Runtime(machine_of("mps2-an500", "dsp"))


@pytest.fixture(scope="session")
def without_dsp(machine_of: Callable[[str, str], Machine]) -> Runtime:
    """For loops in assembly for Armv6-M, and for Thumb-2 where the DSP extension is missing: the
    Cortex-M4 that runs the scalar kernels for `runtime` has it.
    """
    return Runtime(*(machine_of(board, "scalar") for board in ("microbit", "mps2-an385")))


@pytest.fixture(scope="session")
def machine_of(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Callable[[str, str], Machine]:
    """Makes that of a board and an instruction set, once each."""

    @cache
    def get(board: str, isa: str) -> Machine:
        folder = tmp_path_factory.mktemp(f"runtime-{board}-{isa}")
        harness = kernel_harness(board, isa, folder)
        alone = board == "native" or (board, isa) not in RUNTIMES.values()
        repeats = alone or pytestconfig.getoption("long")
        name = board if board == "native" else f"{board} with {isa}"
        return Machine(name, harness, Isa.named(isa), folder, repeats=repeats)

    return get
