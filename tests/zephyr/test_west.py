"""cmbuild zephyr: west itself, on workspaces made of local git repositories."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from harness.commands import Commands
from harness.zephyr import ROOT, STANDIN

from cmbuild.errors import ExitCode, MissingTool
from cmbuild.process import Processes
from cmbuild.zephyr.workspace import (
    RELEASE,
    NoSdk,
    NoWorkspace,
    find_folder,
    find_west,
    open_workspace,
    toolchain,
)

QEMU = "mps3/corstone300/an547"
GITHUB = "https://github.com/zephyrproject-rtos/"


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def repository(folder: Path, tag: str) -> None:
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")
    git(folder, "tag", tag)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What GitHub would serve, as repositories in a folder."""
    folder = tmp_path_factory.mktemp("server")
    shutil.copytree(STANDIN, folder / "zephyr", ignore=shutil.ignore_patterns("__pycache__"))
    repository(folder / "zephyr", RELEASE)
    for name, tag in (("cmsis_6", "v6"), ("hal_nordic", "v1")):
        (folder / name).mkdir()
        (folder / name / "README").write_text(name)
        repository(folder / name, tag)
    for name in ("zephyr", "runtime"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / "cmbuild" / name, ignore=ignored)
    repository(folder / "cmbuild", "main-tag")
    return folder


@pytest.fixture
def west(cmbuild: Commands, server: Path) -> Commands:
    """cmbuild where GitHub is that folder, and no SDK or workspace is around."""
    path = os.pathsep.join(map(str, (ROOT, ROOT / "compiler", ROOT / "tests")))
    variables = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{server}/.insteadOf",
        "GIT_CONFIG_VALUE_0": GITHUB,
        "PYTHONPATH": path,
        "HOME": str(cmbuild.folder),
        "ZEPHYR_BASE": "",
        "ZEPHYR_SDK_INSTALL_DIR": "",
        "ZEPHYR_TOOLCHAIN_VARIANT": "",
    }
    return replace(cmbuild, environment={**cmbuild.environment, **variables})


@pytest.fixture
def workspace(west: Commands) -> Path:
    done = west("zephyr", "init", "ws")
    assert done.exit_code == 0, done.stderr
    return west.folder / "ws"


def test_init_makes_a_workspace_of_the_release(
    west: Commands, workspace: Path, server: Path
) -> None:
    assert git(workspace / "zephyr", "rev-parse", "HEAD") == git(
        server / "zephyr", "rev-parse", f"{RELEASE}^{{commit}}"
    )
    assert (workspace / "modules/hal/cmsis_6/README").is_file()
    assert not (workspace / "modules/hal/nordic").exists(), "not on our list of modules"
    again = west("zephyr", "init", "ws", "--json")
    assert again.exit_code == 0, again.stderr
    assert f"next: cd {workspace} && west packages pip --install; west sdk" in again.stderr


def test_init_keeps_out_of_folders_in_use(west: Commands) -> None:
    (west.folder / "full").mkdir()
    (west.folder / "full/file").touch()
    done = west("zephyr", "init", "full")
    assert (done.exit_code, done.stderr) == (2, f"error: {west.folder}/full is not empty\n")


def test_a_sample_is_built_run_and_flashed(west: Commands, workspace: Path) -> None:
    """By Debian's compiler, as there is no SDK; the simulator goes on, the command does not."""
    ran = west("zephyr", "run", "hello", "-b", QEMU, "--workspace", workspace, "--json")
    assert ran.exit_code == 0, ran.stderr
    assert ran.document["status"] == 0
    assert "1.00 + 2.00 = 3.10" in ran.document["console"]
    assert ran.states == {"app": "done", "simulate": "done"}
    folder = west.folder / "build/zephyr" / f"hello-{QEMU.replace('/', '_')}"
    logs = folder / "logs"
    assert f"modules: {ROOT}\n" in (logs / "west-build.txt").read_text()

    inside = replace(west, folder=workspace / "zephyr")
    build = ("--build-dir", west.folder / "build")
    flashed = inside("zephyr", "flash", "hello", "-b", QEMU, *build, "--", "-DCMRT_FROM=user")
    assert flashed.exit_code == 0, flashed.stderr
    assert re.search("flashing [0-9]+ bytes", (logs / "west-flash.txt").read_text())
    assert "CMRT_FROM:UNINITIALIZED=user" in (folder / "build/CMakeCache.txt").read_text()
    assert west("clean").exit_code == 0
    assert not (folder / "build").exists(), "the stand-in's settings beside it stay"


def test_a_failure_below_a_folder_with_a_space_says_so(west: Commands, workspace: Path) -> None:
    """Zephyr's own build passes some paths to the compiler without quotes."""
    done = west("zephyr", "build", "hello", "-b", "nowhere", "--workspace", workspace)
    error, hint = done.stderr.splitlines()[-2:]
    assert done.exit_code == 1
    assert error.startswith("error: west build failed")
    assert "--build-dir sets a folder without a space" in hint
    assert "logs/west-build.txt" in hint


def test_cmbuild_may_be_a_project_of_the_workspace(west: Commands, server: Path) -> None:
    manifest = west.folder / "own/manifest"
    manifest.mkdir(parents=True)
    (manifest / "west.yml").write_text(
        f"manifest:\n  projects:\n    - name: cmbuild\n      url: file://{server}/cmbuild\n"
        f"      revision: main\n      west-commands: zephyr/west-commands.yml\n"
        f"    - name: zephyr\n      url: {GITHUB}zephyr\n"
        f"      revision: {RELEASE}\n      import: {{name-allowlist: [cmsis_6]}}\n"
    )
    for words in (["init", "-l", manifest], ["update"]):
        done = subprocess.run(
            [find_west(), *words],
            cwd=manifest.parent,
            env=west.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    for words, status in ((["models", "--json"], 0), (["run", "mv2", "--board", "x"], 2)):
        done = subprocess.run(
            [find_west(), "cmbuild", *words],
            cwd=manifest.parent,
            env=west.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        assert "mv2" in done.stdout or "unknown board 'x'" in done.stderr
    log = west.folder / "log"
    actual = open_workspace(manifest.parent, find_west(), Processes(), log)
    assert actual.has_cmbuild
    assert actual.zephyr_base == manifest.parent / "zephyr"
    assert actual.definitions(["x", "y"]) == ["-DCMBUILD_COMMAND=x;y"]


def test_a_simulator_that_is_not_there_is_named(west: Commands, workspace: Path) -> None:
    board = "mps3/corstone300/fvp"
    done = west("zephyr", "run", "hello", "-b", board, "--workspace", workspace)
    assert done.exit_code == 3
    assert "FVP_Corstone_SSE-300_Ethos-U55 not found" in done.stderr
    assert "ARMFVP_BIN_PATH" in done.stderr


def test_an_application_that_is_not_there_is_named(west: Commands, workspace: Path) -> None:
    done = west("zephyr", "build", "helo", "-b", QEMU, "--workspace", workspace)
    assert done.exit_code == 2
    assert done.stderr.endswith("error: unknown sample 'helo'\n  try: did you mean hello?\n")


def test_only_definitions_follow_the_sample(west: Commands) -> None:
    done = west("zephyr", "build", "hello", "-b", QEMU, "--", "-DA=1", "more")
    assert done.exit_code == 2
    assert "unexpected argument 'more'\n  try: only CMake's definitions follow" in done.stderr


def test_a_workspace_without_zephyr_says_update(west: Commands, workspace: Path) -> None:
    shutil.rmtree(workspace / "zephyr")
    done = west("zephyr", "build", "hello", "-b", QEMU, "--workspace", workspace)
    assert done.exit_code == 3
    message = (
        f"Zephyr not found in the workspace {workspace}\n  try: cd {workspace} && west update\n"
    )
    assert message in done.stderr


def test_missing_west_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cmbuild.toolchain.tools.find", lambda name: None)
    with pytest.raises(MissingTool) as caught:
        find_west()
    assert caught.value.message == "west not found"
    assert caught.value.hint is not None and "[zephyr]" in caught.value.hint
    assert caught.value.exit_code is ExitCode.MISSING


def test_missing_workspaces_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoWorkspace, match="ZEPHYR_BASE is not set"):
        find_folder(None, {})
    with pytest.raises(NoWorkspace, match=f"ZEPHYR_BASE, {tmp_path}, is not in a west workspace"):
        find_folder(None, {"ZEPHYR_BASE": str(tmp_path)})
    (tmp_path / ".west").mkdir()
    (tmp_path / ".west/config").touch()
    (tmp_path / "zephyr").mkdir()
    assert find_folder(None, {}) == tmp_path
    assert find_folder(tmp_path / "zephyr", {}) == tmp_path


def test_missing_toolchains_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = {"HOME": str(tmp_path)}
    assert toolchain(tmp_path, home)["ZEPHYR_TOOLCHAIN_VARIANT"] == "cross-compile"
    monkeypatch.setattr("cmbuild.toolchain.tools.find", lambda name: None)
    with pytest.raises(NoSdk) as caught:
        toolchain(tmp_path, home)
    assert caught.value.exit_code is ExitCode.MISSING
    assert caught.value.hint is not None and "west sdk install" in caught.value.hint
    (tmp_path / "zephyr-sdk-1.0.0").mkdir()
    assert toolchain(tmp_path, home) == {}
    assert toolchain(tmp_path, {**home, "ZEPHYR_TOOLCHAIN_VARIANT": "llvm"}) == {}
