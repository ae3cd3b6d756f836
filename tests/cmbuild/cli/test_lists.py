"""The verbs that tell and tidy: boards, models, doctor, versions, help, completion, clean."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import click
import pytest
from harness.commands import NETWORK, Commands, Result

from cmbuild import paths
from cmbuild.cache.folders import CacheFolder
from cmbuild.cli.group import GROUPS, Verbs
from cmbuild.cli.help import FIRST, SECTIONS
from cmbuild.cli.root import cli
from cmcompiler import zoo

SCREEN = 40
"""Lines of a terminal that a newcomer has."""

VERBS = Verbs().list_commands(cli.make_context("cmbuild", ["models"]))


def test_boards(cmbuild: Commands) -> None:
    names = [line.split()[0] for line in cmbuild("boards").stdout.splitlines() if line[2:3].strip()]
    assert names[0] == "board"
    assert {"corstone300", "native"} <= set(names)
    boards = {board["name"]: board for board in cmbuild("boards", "--json").document["boards"]}
    corstone = boards["corstone300"]
    assert (corstone["cpu"], corstone["isas"][0], corstone["launchers"]) == (
        "cortex-m55",
        "mve",
        ["fvp", "qemu"],
    )
    assert boards["native"]["ram"] is None


def test_one_board(cmbuild: Commands) -> None:
    shown = cmbuild("boards", "corstone300").stdout
    for words in ("cortex-m55", "QEMU mps3-an547", "sram    ram    0x31000000  4 MB    arena"):
        assert words in shown
    document = cmbuild("boards", "corstone300", "--json").document
    assert (document["name"], document["stack"]) == ("corstone300", 16 << 10)
    assert document["sections"]["constants"] == "qspi"
    ways = {way["name"]: way for way in document["runs_on"]}
    assert ways["qemu"]["usable"] and ways["qemu"]["problem"] is None
    built = {way["name"]: way for way in document["built_by"]}
    assert list(built) == ["gcc", "clang", "zig"]
    assert all(way["usable"] for way in built.values()), built
    assert "-mcpu=cortex-m55" in built["gcc"]["flags"]
    assert "thumb-freestanding-eabihf" in built["zig"]["flags"]


def test_what_a_board_lacks_here_has_a_reason(cmbuild: Commands, tmp_path: Path) -> None:
    bare = replace(cmbuild, environment={"PATH": str(tmp_path)})
    document = bare("boards", "corstone320", "--json").document
    (fvp, qemu) = document["runs_on"]
    assert (fvp["usable"], fvp["problem"]) == (False, "FVP_Corstone_SSE-320 not found")
    assert (qemu["problem"], qemu["caveat"]) == (
        "qemu-system-arm not found",
        "M85 image on an M55 model",
    )
    assert "qemu-system-arm" in qemu["hint"]
    (gcc, clang, _) = document["built_by"]
    assert gcc["problem"] == "arm-none-eabi-gcc not found"
    assert "apt-get install clang-19 lld-19" in clang["hint"]
    for board in ("corstone320", "rp2350", "nrf52840dk", "native"):
        shown = bare("boards", board).stdout
        assert max(map(len, shown.splitlines())) <= 80
    folder = Path(shutil.copytree(paths.boards() / "nrf52840dk", cmbuild.folder / "boards/alone"))
    descriptor = folder / "board.toml"
    descriptor.write_text(descriptor.read_text().replace("[launchers.unicorn]\nperipherals", "# "))
    shown = " ".join(bare("boards", "alone").stdout.split())
    assert "never run on the board" in shown
    assert "runs on no simulator models its memory and devices" in shown
    assert "flashed – probe-rs not found" in shown


def test_models(cmbuild: Commands) -> None:
    shown = cmbuild("models")
    document = cmbuild("models", "--json").document
    assert [model["name"] for model in document["models"]] == list(zoo.names())
    for name in zoo.names():
        assert f"  {name} " in shown.stdout


def test_doctor(cmbuild: Commands) -> None:
    result = cmbuild("doctor", "--json")
    components = {item["name"]: item for item in result.document["components"]}
    assert components["arm-none-eabi-gcc"]["status"] == "present"
    lacking = [item for item in components.values() if item["status"] in ("missing", "unusable")]
    assert result.exit_code == (3 if lacking else 0)
    assert "arm-none-eabi-gcc" in cmbuild("doctor").stdout


def test_versions(cmbuild: Commands) -> None:
    names = [line.split()[0] for line in cmbuild("--version").stdout.splitlines()]
    assert names[:2] == ["cmbuild", "python"]
    assert "arm-none-eabi-gcc" in names


def test_help_lists_all_verbs_with_examples(cmbuild: Commands) -> None:
    shown = cmbuild("--help").stdout
    assert cmbuild() == Result(0, shown, "")
    assert "cmbuild run mv2 --board corstone300" in shown
    for verb in VERBS:
        assert f"\n  {verb} " in shown
    assert len(shown.splitlines()) <= SCREEN


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_fits_the_screen(cmbuild: Commands, verb: str) -> None:
    result = cmbuild(verb, "--help")
    assert (result.exit_code, result.stderr) == (0, "")
    assert max(map(len, result.stdout.splitlines())) <= 82
    assert len(result.stdout.splitlines()) <= SCREEN


@pytest.mark.parametrize("verb", ["run", "build", "compare", "bench"])
def test_help_all_describes_every_option(cmbuild: Commands, verb: str) -> None:
    short, whole = (cmbuild(verb, option).stdout for option in ("--help", "--help-all"))
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    names = [each.opts[0] for each in command.params if isinstance(each, click.Option)]
    assert [name for name in names if name not in short] == []
    assert [name for name in names if f"\n  {name}" not in whole and f", {name}" not in whole] == (
        ["--help-all"]
    )


def test_options_of_a_run_are_in_groups() -> None:
    command = cli.get_command(click.Context(cli), "run")
    assert command is not None
    grouped = {name for names in SECTIONS.values() for name in names}
    options = {str(each.name) for each in command.params if isinstance(each, click.Option)}
    assert options - grouped - {"help_all", "max_float", "min_snr"} == set()


def test_help_names_no_option_that_no_command_has() -> None:
    commands = [cli.get_command(click.Context(cli), verb) for verb in VERBS]
    nested = [each for group in commands for each in getattr(group, "commands", {}).values()]
    options = {each.name for command in (*commands, *nested) if command for each in command.params}
    assert {*FIRST, *(name for names in SECTIONS.values() for name in names)} - options == set()


def test_commands_are_in_groups() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(VERBS)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(cmbuild: Commands, shell: str) -> None:
    result = cmbuild("completion", shell)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "_CMBUILD_COMPLETE" in result.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("cmbuild ru", ["run"]),
        ("cmbuild run mv", ["mv2", "mv3_small"]),
        ("cmbuild run mv2 --board cors", ["corstone300"]),
        ("cmbuild run mv2 --toolchain z", ["zig"]),
        ("cmbuild run mv2 --isa s", ["scalar"]),
        ("cmbuild package mv2 --target cortex-m5", ["cortex-m52", "cortex-m55"]),
        ("cmbuild run mv2 --output", ["--output-dir"]),
    ],
)
def test_completion_of_verbs_models_boards_and_options(
    cmbuild: Commands, words: str, expected: list[str]
) -> None:
    environment = {
        **cmbuild.variables,
        "_CMBUILD_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        cmbuild.argv(), env=environment, capture_output=True, text=True, check=False
    )
    offered = [line.partition(",")[2] for line in done.stdout.splitlines()]
    assert [word for word in offered if word in expected] == expected


def test_clean_removes_what_was_asked_for_and_nothing_else(cmbuild: Commands) -> None:
    build = cmbuild.folder / "build"
    mine = build / "notes" / "native"
    mine.mkdir(parents=True)
    assert cmbuild("explain", NETWORK, "--board", "mps2-an505").exit_code == 0
    assert cmbuild("clean", "other").exit_code == 0
    assert (build / "network" / "mps2-an505" / "runner").is_dir()
    result = cmbuild("clean", "network", "--board", "mps2-an505")
    removed = build / "network" / "mps2-an505"
    assert (result.exit_code, result.stdout) == (0, f"  removed {removed}\n")
    assert [path.name for path in build.iterdir()] == ["notes"]


def test_clean_keeps_what_others_put_into_a_build(cmbuild: Commands) -> None:
    assert cmbuild("run", NETWORK, "--board", "native").exit_code == 0
    folder = cmbuild.folder / "build" / "network" / "native"
    mine = [folder / "notes.txt", folder / "results" / "first.npy", folder / "plan.old"]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    (folder / "package").symlink_to(cmbuild.folder)
    result = cmbuild("clean")
    kept = ["notes.txt", "package", "plan.old", "results"]
    notes = [f"  kept {folder / name} (not written by cmbuild)\n" for name in kept]
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "".join([*notes, f"  removed all else in {folder}\n"])
    assert sorted(path.name for path in folder.iterdir()) == kept
    assert [path.read_text() for path in mine] == ["mine"] * 3
    assert cmbuild("run", NETWORK, "--board", "native").exit_code == 0


def test_clean_cache(cmbuild: Commands, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for folder in CacheFolder:
        (cache / folder.value / "x").mkdir(parents=True)
    (cache / "mine").mkdir()
    own = Commands(cmbuild.folder, cache)
    assert own("clean", "--cache").exit_code == 0
    assert [path.name for path in cache.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    "words",
    [("models",), ("models", "--json"), ("run", NETWORK, "--board", "corstone300")],
)
def test_reader_that_has_seen_enough(cmbuild: Commands, words: tuple[str | Path, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        cmbuild.argv(*words),
        cwd=cmbuild.folder,
        env=cmbuild.variables,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", [["--help"], ["models", "--json"], ["boards"], ["run", "--help"]])
def test_no_verb_imports_torch(cmbuild: Commands, words: list[str]) -> None:
    code = (
        "import json, sys\n"
        "from cmbuild.cli import main\n"
        f"main({words!r})\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run(
        [*cmbuild.argv()[:1], "-c", code],
        env=cmbuild.variables,
        capture_output=True,
        text=True,
        check=True,
    )
    modules = json.loads(done.stdout.splitlines()[-1])
    assert not {"torch", "executorch", "torchvision"} & set(modules)
    if "--help" in words:
        assert not {"numpy", "pydantic", "doit", "rich"} & set(modules)
