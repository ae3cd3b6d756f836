"""pytest plugin: runs programs of ExecuTorch's CortexMTester on a board of cmbuild, not an FVP.

    pytest -p cmbuild.conformance.plugin --cmbuild-board corstone300

Each program is planned, run through the board's kernel harness and compared with cmbuild's
reference; its outputs then return to the test, whose own assertions are unchanged.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cmbuild.boards.registry import board_folders
from cmbuild.cache.folders import CacheFolder
from cmbuild.conformance.harness import KernelHarness
from cmbuild.conformance.harness_image import HarnessStage
from cmbuild.conformance.program_check import Trials
from cmbuild.discovery import listed, names
from cmbuild.errors import CmbuildError
from cmbuild.launchers import simulators
from cmbuild.launchers.base import Launcher
from cmbuild.launchers.selection import choose
from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.failures import explain
from cmbuild.pipeline.interrupts import Interrupts
from cmbuild.pipeline.performing import perform
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.request import BoardChoice
from cmbuild.process import Processes
from cmbuild.toolchain.toolchains import CROSS
from cmcompiler.errors import CompilerError
from cmcompiler.target import Target

SEED = "TEST_SEED"
"""The environment variable with the seed of ExecuTorch's tests: a number, or RANDOM."""


@dataclass(frozen=True)
class Setting:
    """Where the programs of this session run."""

    processes: Processes
    interrupts: Interrupts
    image: HarnessStage
    launcher: Launcher

    @property
    def target(self) -> Target:
        return self.image.library.target

    def trials(self, folder: Path) -> Trials:
        harness = KernelHarness(self.processes, self.launcher, self.image.image)
        return Trials(self.image, harness, folder)


SETTING = pytest.StashKey[Setting]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cmbuild", "Cortex-M programs on boards of cmbuild")
    group.addoption("--cmbuild-board", metavar="NAME", help="run them on this board")
    group.addoption(
        "--cmbuild-isa", metavar="ISA", help="use a lower instruction set than the board's best"
    )
    group.addoption("--cmbuild-toolchain", metavar="NAME", help=listed(CROSS))
    group.addoption("--cmbuild-launcher", metavar="NAME", help=listed(names(simulators)))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    try:
        setting = _setting(config)
    except (CmbuildError, CompilerError) as error:
        raise pytest.UsageError(explain(error).lines) from error
    config.stash[SETTING] = setting
    # ExecuTorch's conftest.py has this option; by default the board decides.
    if getattr(config.option, "cortex_m_target", None) == []:
        config.option.cortex_m_target = [setting.target.exported_as]
    # One number for all processes, shown in the header.
    if os.environ.get(SEED) == "RANDOM":
        os.environ[SEED] = str(random.SystemRandom().getrandbits(32))


def pytest_report_header(config: pytest.Config) -> str:
    setting = config.stash[SETTING]
    return (
        f"cmbuild: {setting.image.board.name} ({setting.target}) on {setting.launcher.title}, "
        f"{SEED}={_seed()}"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Builds the kernel harness; exits with cmbuild's exit code if that fails."""
    setting = session.config.stash[SETTING]
    setting.interrupts.listen()
    try:
        for stage in (setting.image.library, setting.image):
            perform(stage, setting.interrupts.check, _note)
    except CmbuildError as error:
        pytest.exit(error.lines, returncode=int(error.exit_code))


def pytest_sessionfinish(session: pytest.Session) -> None:
    setting = session.config.stash[SETTING]
    if setting.interrupts.received:
        setting.processes.end()
    setting.interrupts.ignore()


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Tests that draw numbers during import get the same ones, whichever tests are selected."""
    from cmcompiler.frontend.tester import seed

    if isinstance(collector, pytest.Module):
        seed(_seed())


@pytest.fixture(autouse=True)
def cmbuild_seed() -> None:
    """Every test draws the same numbers, whichever tests are selected."""
    from cmcompiler.frontend.tester import seed

    seed(_seed())


@pytest.fixture
def cortex_m_target(request: pytest.FixtureRequest) -> Any:
    """The board's core as CortexMTester expects it."""
    from cmcompiler.frontend.tester import target_config

    return target_config(request.config.stash[SETTING].target)


@pytest.fixture(scope="session", autouse=True)
def cmbuild_board(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """All programs of CortexMTester run on the board."""
    from cmcompiler.frontend.tester import running

    trials = request.config.stash[SETTING].trials(tmp_path_factory.mktemp("programs"))
    with running(trials.run):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """cmbuild's errors about a program are one line and a hint, not a traceback."""
    report = yield
    error = call.excinfo.value if call.excinfo else None
    if report.failed and isinstance(error, (CmbuildError, CompilerError)):
        report.longrepr = explain(error).lines
    return report


def _setting(config: pytest.Config) -> Setting:
    name = config.getoption("--cmbuild-board")
    if name is None:
        known = ", ".join(board_folders())
        raise pytest.UsageError(
            f"cmbuild.conformance.plugin needs --cmbuild-board, one of: {known}"
        )
    processes = Processes()
    context = WorkContext(processes, CacheFolder.LOGS.path)
    isa, toolchain = config.getoption("--cmbuild-isa"), config.getoption("--cmbuild-toolchain")
    place = BoardChoice(board=name, isa=isa, toolchain=toolchain)
    image = HarnessStage.of(Pipeline(context), place)
    launcher = choose(image.board, config.getoption("--cmbuild-launcher"))
    return Setting(processes, Interrupts(processes), image, launcher)


def _note(text: str) -> None:
    print(f"  {text}", file=sys.stderr)


def _seed() -> int:
    return int(os.environ.get(SEED, "0"))
