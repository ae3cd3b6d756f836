"""The FVP launcher, against stand-ins that check their arguments and can misbehave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from harness.small_library import build_small_library
from harness.toy_image import INTERFACE, expected, write_toy_model

from cmbuild.catalog import find_board
from cmbuild.errors import ExitCode, TimedOut
from cmbuild.firmware.builder import Builder
from cmbuild.launchers.base import EndedEarly, LauncherMissing, Silent
from cmbuild.launchers.execution import Execution, Request, execute
from cmbuild.launchers.fault import Fault
from cmbuild.launchers.registry import launchers_of
from cmbuild.launchers.simulators.fvp import Fvp
from cmbuild.process import Processes
from cmbuild.toolchain.toolchains import find_toolchain
from cmcompiler.target import Target

FAKES = Path(__file__).parents[2] / "fakes"

# The first byte of the input says what to do.
BODY = """\
switch (context->arena[0]) {
case 1: __asm__ volatile("udf #0"); break;
case 2: cm_host_print("cmrt end 0\\n"); __asm__ volatile("udf #0"); break;
case 3: cm_host_exit(0); break;
case 4: cm_host_print("cmrt end 5\\n"); cm_host_exit(0); break;
case 5: for (;;) __asm__ volatile("wfi"); break;
}"""
RUN, FAULT, SUCCESS_THEN_FAULT, EARLY_EXIT, WRONG_STATUS, HANG = range(6)


@dataclass(frozen=True)
class Place:
    """A board's launcher, and an image for the board."""

    fvp: Fvp
    image: Path

    def run(self, folder: Path, what: int = RUN, timeout: float = 60.0) -> Execution:
        return execute(
            self.fvp,
            Processes(),
            self.image,
            INTERFACE,
            Request(samples=[[sample(what)]]),
            folder=folder / "streams",
            timeout=timeout,
            log=folder / "log",
        )


def sample(what: int = RUN) -> bytes:
    return bytes([what, *range(1, 100)])


@pytest.fixture(scope="module", params=["corstone300", "corstone320"])
def built(request, tmp_path_factory) -> Place:
    folder = tmp_path_factory.mktemp(request.param)
    board, processes = find_board(request.param), Processes()
    toolchain = find_toolchain(board.toolchain, processes, folder / "log")
    builder = Builder(processes, toolchain, Target.parse(board.cpu))
    model = write_toy_model(folder / "model", BODY, helpers='#include "cmrt/host.h"')
    library = build_small_library(builder, folder / "library")
    fvp = launchers_of(board)[0]
    assert isinstance(fvp, Fvp)
    return Place(fvp, builder.runner(board, library, model, folder / "build"))


@pytest.fixture
def place(built, monkeypatch) -> Place:
    """Finds the stand-in first on PATH."""
    monkeypatch.setenv("PATH", str(FAKES), prepend=":")
    return built


def test_an_image_runs(place, tmp_path):
    execution = place.run(tmp_path)
    assert execution.outputs == (expected(sample()),)
    assert place.fvp.instructions(execution.ticks[0]) is None


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        # The stand-in ends with 0 in all of these, as an FVP may.
        (FAULT, Fault, "undefined instruction, in first"),
        (SUCCESS_THEN_FAULT, Fault, "undefined instruction, in first"),
        (EARLY_EXIT, EndedEarly, "its last record is 'model'"),
        (WRONG_STATUS, EndedEarly, "the image's status is 5"),
    ],
)
def test_the_image_decides_not_the_exit_status(what, error, message, place, tmp_path):
    with pytest.raises(error, match=message):
        place.run(tmp_path, what)
    assert (tmp_path / "log").read_text()


def test_a_hang_is_stopped_with_all_that_the_fvp_started(place, tmp_path):
    with pytest.raises(TimedOut, match="did not end within 2 s"):
        place.run(tmp_path, HANG, timeout=2.0)
    assert "cmrt runner" in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("behaviour", "error", "message"),
    [
        ("hang", TimedOut, "did not end within 1 s"),
        ("crash", Silent, "was killed by SIGSEGV"),
        ("silent", Silent, "printed nothing and ended"),
        ("limit", EndedEarly, "ended before .*: Info: /OSCI/SystemC: Simulation stopped by user"),
        ("status", EndedEarly, "failed with status 1"),
    ],
)
def test_misbehaviour(*, behaviour, error, message, place, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_FVP", behaviour)
    with pytest.raises(error, match=message):
        place.run(tmp_path, timeout=1.0 if behaviour == "hang" else 60.0)
    assert (tmp_path / "log").exists()


def test_the_stand_in_is_strict(place, tmp_path):
    other = replace(place, fvp=replace(place.fvp, cpu="cpu7"))
    with pytest.raises(EndedEarly, match=r"parameter cpu7\.semihosting-enable not found"):
        other.run(tmp_path)
    if place.fvp.parameters:
        bare = replace(place, fvp=replace(place.fvp, parameters={}))
        with pytest.raises(EndedEarly, match="cannot open display"):
            bare.run(tmp_path)
        parameters = {n: v for n, v in place.fvp.parameters.items() if "INITSVTOR" not in n}
        astray = replace(place, fvp=replace(place.fvp, parameters=parameters))
        with pytest.raises(EndedEarly, match="no vectors where the core looks for them"):
            astray.run(tmp_path)


def test_the_command_line_stays_short_however_deep_the_folder(place, tmp_path):
    command = place.fvp.command(Path("fvp"), place.image, tmp_path / ("x" * 200), 10.0)
    values = dict(word.split("=", 1) for word in command if "=" in word)
    assert values[f"{place.fvp.cpu}.semihosting-cmd_line"] == "runner"
    assert command[command.index("--timelimit") + 1] == "40"


def test_a_missing_fvp_says_how_to_get_it(place, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("FVP_HOME", raising=False)
    with pytest.raises(LauncherMissing, match=f"{place.fvp.executable} not found") as error:
        place.fvp.find()
    assert error.value.exit_code is ExitCode.MISSING
    assert "FVP_HOME" in error.value.hint


def test_it_is_found_on_path_or_below_its_home(place, monkeypatch):
    assert place.fvp.find() == FAKES / place.fvp.executable
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("FVP_HOME", str(FAKES.parent))
    assert place.fvp.find() == FAKES / place.fvp.executable
