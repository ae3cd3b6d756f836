"""module.yml, sample.yaml and the files of boards, against what Zephyr's schemas allow."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from harness.exports import exported
from harness.zephyr import BOARDS, ROOT, SAMPLES, Application, Board
from pydantic import BaseModel, ConfigDict, Field

from cmcompiler.importer.build import build_graph
from cmcompiler.isa import Isa
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.reader import read_program

MODULE = ROOT / "zephyr" / "module.yml"
NAMES = ("hello", "mv2", "digits")
CODE_BYTES = 96 << 10
"""More than Zephyr and the kernels of one model take."""


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Settings(Strict):
    board_root: str = ""
    dts_root: str = ""
    snippet_root: str = ""
    soc_root: str = ""
    arch_root: str = ""
    module_ext_root: str = ""
    sca_root: str = ""


class Build(Strict):
    cmake: str = ""
    kconfig: str = ""
    depends: list[str] = []
    settings: Settings = Settings()


class Module(Strict):
    """zephyr/module.yml: scripts/schemas/module-schema.yaml of Zephyr 4.4, blobs aside."""

    name: str
    build: Build
    tests: list[str] = []
    samples: list[str] = []
    boards: list[str] = []


class HarnessConfig(Strict):
    """Of the console harness."""

    type: Literal["one_line", "multi_line"]
    fixture: str = ""
    ordered: bool = True
    repeat: int = 1
    regex: list[str] = Field(min_length=1)


class Scenario(Strict):
    """scripts/schemas/twister/testsuite-schema.yaml of Zephyr 4.4: the keys for any sample."""

    tags: list[str] = []
    harness: Literal["console"] = "console"
    harness_config: HarnessConfig | None = None
    timeout: int = 60
    platform_allow: list[str] = []
    integration_platforms: list[str] = []
    extra_args: list[str] = []
    extra_configs: list[str] = []
    min_ram: int = 0
    min_flash: int = 0


class Description(Strict):
    name: str
    description: str


class Sample(Strict):
    sample: Description
    common: Scenario
    tests: dict[str, Scenario]


def sample(name: str) -> Sample:
    return Sample.model_validate(yaml.safe_load((SAMPLES / name / "sample.yaml").read_text()))


def boards_of(name: str) -> list[str]:
    return [board for test in sample(name).tests.values() for board in test.platform_allow]


def test_the_module_names_files_that_are_there() -> None:
    module = Module.model_validate(yaml.safe_load(MODULE.read_text()))
    assert module.name == "cmbuild"
    assert (ROOT / module.build.cmake / "CMakeLists.txt").is_file()
    assert (ROOT / module.build.kconfig).is_file()
    assert [ROOT / folder for folder in module.samples] == [SAMPLES]


def test_unknown_keys_are_no_modules() -> None:
    contents = yaml.safe_load(MODULE.read_text())
    contents["build"]["cmake_folder"] = "zephyr"
    with pytest.raises(ValueError, match="cmake_folder"):
        Module.model_validate(contents)


def test_the_samples_are_those_we_know() -> None:
    assert sorted(path.parent.name for path in SAMPLES.glob("*/sample.yaml")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_described(name: str) -> None:
    description = sample(name)
    for identifier, test in description.tests.items():
        assert re.fullmatch(rf"sample\.cmbuild\.{name}(\.\w+)*", identifier)
        assert set(test.platform_allow) <= BOARDS.keys()
        assert set(description.common.integration_platforms) <= set(test.platform_allow)
    assert description.common.harness_config is not None
    for regex in description.common.harness_config.regex:
        re.compile(regex)


@pytest.mark.parametrize("name", NAMES)
def test_files_of_boards_are_found_by_their_names(name: str) -> None:
    """Zephyr looks for boards/<board with slashes as underscores>.conf and .overlay."""
    known = {BOARDS[board].file_stem for board in boards_of(name)}
    assert {path.stem for path in (SAMPLES / name / "boards").iterdir()} <= known


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.file_stem)
@pytest.mark.parametrize("name", NAMES)
def test_overlays_choose_memories_of_the_board(name: str, board: Board) -> None:
    chosen = Application(SAMPLES / name, board).chosen
    assert chosen.keys() <= {"cmbuild,arena", "cmbuild,weights"}
    assert set(chosen.values()) <= {memory.label for memory in board.memories}


@pytest.fixture(scope="module")
def mv2() -> dict[str, int]:
    """Bytes of mv2's activations, and of its weights with a test vector."""
    program = (exported("mv2")[0] / "model.pte").read_bytes()
    plan = make_plan(build_graph(read_program(program)), Isa.MVE)
    ports = (*plan.inputs, *plan.outputs)
    vectors = sum(port.tensor.nbytes for port in ports)
    return {"cmbuild,arena": plan.arena_bytes, "cmbuild,weights": len(plan.constants) + vectors}


@pytest.mark.parametrize("board", BOARDS.values(), ids=lambda board: board.file_stem)
def test_mv2_is_for_the_boards_that_hold_it(board: Board, mv2: dict[str, int]) -> None:
    """By its overlays, and with room for the code and for Zephyr's variables."""
    chosen = Application(SAMPLES / "mv2", board).chosen
    room: dict[str, Any] = {memory.label: memory.size for memory in board.memories}
    room[board.flash] -= CODE_BYTES
    room[board.sram] -= 32 << 10
    default = {"cmbuild,arena": board.sram, "cmbuild,weights": board.flash}
    for name, size in mv2.items():
        room[chosen.get(name, default[name])] -= size
    assert (board.name in boards_of("mv2")) == (min(room.values()) >= 0)


def test_the_manifest_pins_a_release() -> None:
    manifest = yaml.safe_load((ROOT / "zephyr" / "west.yml").read_text())["manifest"]
    (zephyr,) = (each for each in manifest["projects"] if each["name"] == "zephyr")
    assert re.fullmatch(r"v\d+\.\d+\.\d+", zephyr["revision"])
    from cmbuild.zephyr.workspace import RELEASE

    assert zephyr["revision"] == RELEASE


def test_every_file_is_used() -> None:
    """Nothing in zephyr/ that neither CMake, Kconfig, west nor a C file names."""
    files = [p for p in (ROOT / "zephyr").rglob("*") if p.is_file() and p.name != "add.py"]
    text = "".join(p.read_text(errors="replace") for p in files if p.suffix != ".pte")
    unnamed = {p.name for p in files if "boards" not in p.parts and p.name not in text}
    found_by_name = {"module.yml", "west.yml", "west-commands.yml", "sample.yaml", "prj.conf"}
    assert unnamed - found_by_name <= {"CMakeLists.txt", "Kconfig"}


def test_no_source_of_the_runtime_is_here_twice() -> None:
    ours = {path.read_bytes() for path in (ROOT / "zephyr").rglob("*.c")}
    assert len(ours) == len(list((ROOT / "zephyr").rglob("*.c")))
    assert not ours & {path.read_bytes() for path in (ROOT / "runtime").rglob("*.c")}


def test_the_module_is_the_folder_above_its_description() -> None:
    """That wheels hold it is a test of wheels."""
    assert Path(MODULE).parents[1] == ROOT
