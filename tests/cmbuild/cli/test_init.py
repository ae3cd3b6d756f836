"""A new project, as a user makes it."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
import yaml
from harness.commands import NETWORK, Commands

from cmbuild.cli.root import cli
from cmbuild.strictfile import tomllib

SKELETON = ("cmbuild.toml", "models/waves.py", "tests/test_waves.py")
WORKFLOW = ".github/workflows/cmbuild.yml"


def pytest_there(project: Commands) -> tuple[int, str]:
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **project.environment}
    words = ("-q", "-p", "no:cacheprovider", "-p", "cmbuild.pytest_plugin")
    result = replace(project, environment=environment)(*words, program=("pytest",))
    return result.exit_code, result.stdout


def test_a_project_of_a_model_that_exists(cmbuild: Commands):
    (cmbuild.folder / "net.pte").write_bytes(NETWORK.read_bytes())
    words = ("--model", "net", "--source", "net.pte", "--board", "corstone300", "--json")
    made = cmbuild("init", "firmware", *words).document
    files = ("launch.json", "tasks.json", "c_cpp_properties.json")
    vscode = (*(f".vscode/{name}" for name in files), "compile_commands.json")
    names = ("cmbuild.toml", "tests/test_net.py", WORKFLOW, *vscode, ".gitignore")
    assert made["written"] == [f"firmware/{name}" for name in names]
    project = replace(cmbuild, folder=cmbuild.folder / "firmware")
    assert project("run").exit_code == 0
    assert project("check").exit_code == 0
    assert project("models", "--json").document["project"][0]["boards"] == ["corstone300"]
    assert pytest_there(project)[0] == 0

    file = project.folder / "cmbuild.toml"
    file.write_text(re.sub("flash = .*", "flash = 1", file.read_text()))
    status, said = pytest_there(project)
    assert status == 1
    assert re.search(r"^error: net on corstone300: flash [\d,]+ bytes over$", said, re.MULTILINE)
    assert "Traceback" not in said


def test_an_editor_can_run_check_and_debug(cmbuild: Commands):
    assert cmbuild("init", "--model", "net", "--source", "digits").exit_code == 0
    folder = cmbuild.folder / ".vscode"
    tasks = json.loads((folder / "tasks.json").read_text())["tasks"]
    launch = json.loads(re.sub(r"^\s*//.*$", "", (folder / "launch.json").read_text(), flags=re.M))
    (configuration,) = launch["configurations"]
    assert configuration["preLaunchTask"] in [task["label"] for task in tasks]
    assert "build/net/rp2350/runner/" in configuration["executable"]
    for task in tasks:
        _, verb, *words = task["command"].split()
        command = cli.get_command(cli.make_context("cmbuild", [verb]), verb)
        assert command is not None
        known = {name for option in command.params for name in option.opts}
        assert {word for word in words if word.startswith("--")} <= known
    port = configuration["gdbTarget"].rpartition(":")[2]
    assert f"--gdb-port {port}" in tasks[-1]["command"]


def test_an_editor_can_run_and_debug_on_a_new_board(cmbuild: Commands):
    words = ("new", "board", "mine", "--chip", "STM32F411RE")
    written = cmbuild(*words, "--json").document["written"]
    files = ("launch.json", "tasks.json", "c_cpp_properties.json")
    assert written[-4:] == [*(f".vscode/{name}" for name in files), "compile_commands.json"]
    tasks = json.loads((cmbuild.folder / ".vscode" / "tasks.json").read_text())["tasks"]
    assert [task["label"] for task in tasks] == ["run", "debug server"]
    assert all(" mlp --board mine" in task["command"] for task in tasks)
    (cmbuild.folder / ".vscode" / "launch.json").write_text("// mine")
    again = cmbuild("new", "board", "other", *words[3:], "--json").document["written"]
    assert [name for name in again if "/other/" not in name] == ["compile_commands.json"]
    elsewhere = cmbuild("new", "board", "far", *words[3:], "--dir", "parts", "--json").document
    assert all(name.startswith("parts/far/") for name in elsewhere["written"])


def test_what_is_written_is_valid(cmbuild: Commands):
    assert cmbuild("init").exit_code == 0
    for name in SKELETON:
        text = (cmbuild.folder / name).read_text()
        assert tomllib.loads(text) if name.endswith(".toml") else compile(text, name, "exec")
    steps = yaml.safe_load((cmbuild.folder / WORKFLOW).read_text())["jobs"]["check"]["steps"]
    commands = "\n".join(step.get("run", "") for step in steps)
    used = re.findall(r"^\s*cmbuild (\w+)(.*)$", commands, re.MULTILINE)
    assert [verb for verb, _ in used] == ["check", "compare"]
    for verb, words in used:
        command = cli.get_command(cli.make_context("cmbuild", [verb]), verb)
        known = {name for option in command.params for name in option.opts}
        assert set(re.findall(r"--[\w-]+", words)) <= known


def test_what_exists_is_kept(cmbuild: Commands):
    (cmbuild.folder / ".gitignore").write_text("mine\n")
    assert "kept      .gitignore" in cmbuild("init").stdout
    assert (cmbuild.folder / ".gitignore").read_text() == "mine\n"
    again = cmbuild("init", "--pyproject")
    assert again.exit_code == 2
    assert again.stderr.splitlines()[0] == "error: cmbuild.toml already exists"
    (cmbuild.folder / "cmbuild.toml").unlink()
    model = cmbuild("init")
    assert model.exit_code == 2
    assert model.stderr.splitlines()[0] == "error: models/waves.py already exists"
    assert not (cmbuild.folder / "cmbuild.toml").exists()


def test_the_tables_may_be_in_pyproject(cmbuild: Commands):
    file = cmbuild.folder / "pyproject.toml"
    file.write_text("[project]\nname = 'x'")
    assert cmbuild("init", "--pyproject", "--board", "native").exit_code == 0
    document = tomllib.loads(file.read_text())
    assert document["project"] == {"name": "x"}
    assert set(document["tool"]["cmbuild"]["models"]["waves"]["budget"]) == {"native"}
    assert "instructions" not in document["tool"]["cmbuild"]["models"]["waves"]["budget"]["native"]
    assert cmbuild("models", "--json").document["project"][0]["name"] == "waves"


def test_nothing_is_left_of_one_that_cannot_be_written(cmbuild: Commands):
    (cmbuild.folder / ".github").touch()
    result = cmbuild("init")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 2)
    assert result.stderr.startswith("error: cannot write .github/workflows: ")
    assert [path.name for path in cmbuild.folder.rglob("*") if path.is_file()] == [".github"]


def test_budgets_leave_the_board_its_stack(cmbuild: Commands):
    memory = ("--flash", "0x08000000:512K", "--ram", "0x20000000:128K")
    assert cmbuild("new", "board", "mine", "--cpu", "cortex-m4", *memory).exit_code == 0
    for folder, board, ram in ((".", "mine", "12K"), ("large", "corstone300", "24K")):
        assert cmbuild("init", folder, "--board", board).exit_code == 0, board
        document = tomllib.loads((cmbuild.folder / folder / "cmbuild.toml").read_text())
        assert document["models"]["waves"]["budget"][board]["ram"] == ram


@pytest.mark.long
@pytest.mark.timeout(900)
def test_an_own_board_is_green_from_init_to_compare(cmbuild: Commands):
    memory = ("--flash", "0x10000000:128K", "--ram", "0x20000000:16K", "--clock", "48M")
    assert cmbuild("new", "board", "mine", "--cpu", "cortex-m0plus", *memory).exit_code == 0
    assert cmbuild("init", "--board", "mine").exit_code == 0
    check = cmbuild("check", "--json")
    assert check.exit_code == 0, check.stderr
    (cmbuild.folder / "before.json").write_text(check.stdout)
    again = cmbuild("compare", "before.json", ".", "--max-instructions", "+1%")
    assert again.exit_code == 0, again.stderr


@pytest.mark.long
@pytest.mark.timeout(900)
def test_three_commands(cmbuild: Commands):
    """init, run, check; and the test that it has."""
    assert cmbuild("init").exit_code == 0
    run = cmbuild("run", "--json").document
    assert (run["model"], run["verified"]) == ("waves", True)
    assert run["accuracy"]["reference"] > 0.9
    assert cmbuild("check").exit_code == 0
    assert pytest_there(cmbuild)[0] == 0
