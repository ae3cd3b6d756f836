"""The wheel holds all that it needs, and works away from the checkout: alone, and with PyTorch."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness.exports import exported, without_published_weights

from cmbuild.strictfile import tomllib
from cmcompiler.installation import TORCH_INDEX

pytestmark = pytest.mark.timeout(900)
"""The first of them installs packages from the network."""

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
LIGHT_BYTES = 120 * 10**6
NOT_OURS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth")


@dataclass(frozen=True)
class Installation:
    """cmbuild as it is installed somewhere, and a folder far from the checkout to use it in."""

    command: tuple[str, ...]
    environment: dict[str, str]
    folder: Path

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )


def succeed(command: list[str | Path], **options: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    succeed([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def light(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """`pip install cmbuild`: an environment of its own, from the network."""
    folder = tmp_path_factory.mktemp("light")
    python = folder / "venv/bin/python"
    succeed([sys.executable, "-m", "venv", folder / "venv"])
    succeed([python, "-m", "pip", "install", "--timeout", "15", "--retries", "2", wheel])
    (folder / "work").mkdir()
    variables = environment(wheel.parent)
    return Installation((str(folder / "venv/bin/cmbuild"),), variables, folder / "work")


@pytest.fixture(scope="module")
def with_export(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """`pip install cmbuild[export]`: the wheel beside the packages that run these tests."""
    folder = tmp_path_factory.mktemp("export")
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target"]
    succeed([*pip, folder / "site", wheel])
    (folder / "work").mkdir()
    variables = {**environment(wheel.parent), "PYTHONPATH": str(folder / "site")}
    return Installation((sys.executable, "-m", "cmbuild"), variables, folder / "work")


def environment(folder: Path) -> dict[str, str]:
    """Of a user without any cache. cmake and ninja may be those of the tests' environment.

    Installations of one wheel share a cache, as the same runtime gives the same library.
    """
    inherited = without_published_weights()
    return {
        **{name: value for name, value in inherited.items() if not name.startswith("PYTHON")},
        "CMBUILD_CACHE": str(folder / "cache"),
        "PATH": f"{os.environ['PATH']}{os.pathsep}{Path(sys.executable).parent}",
    }


def site_packages(light: Installation) -> Path:
    return next(Path(light.command[0]).parents[1].glob("lib/python3*/site-packages"))


def files_below(folder: Path) -> Iterator[Path]:
    """Without the bytecode that Python keeps."""
    return (p for p in folder.rglob("*") if p.is_file() and p.suffix != ".pyc")


def test_the_wheel_holds_runtime_and_boards(wheel: Path):
    listed = set(zipfile.ZipFile(wheel).namelist())
    ours = {
        f"cmbuild/data/{path.relative_to(ROOT)}"
        for name in ("runtime", "boards", "zephyr")
        for path in files_below(ROOT / name)
    }
    assert "cmbuild/data/boards/corstone300/board.toml" in ours
    assert {"cmbuild/data/zephyr/module.yml", "cmbuild/data/zephyr/CMakeLists.txt"} <= ours
    assert ours <= listed
    assert {f"cmbuild/data/docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} <= listed
    assert not [name for name in listed if name.startswith(("tests/", "docs/", "benchmarks/"))]


def test_the_wheel_installs_the_command_as_a_script(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        (script,) = (x for x in archive.infolist() if x.filename.endswith(".data/scripts/cmbuild"))
        assert archive.read(script) == (ROOT / "cmbuild/cli/start.sh").read_bytes()
    assert script.external_attr >> 16 & 0o111 == 0o111, "executable"


def test_light_is_light(light: Installation):
    actual = {
        path: path.stat().st_size
        for path in site_packages(light).rglob("*")
        if path.is_file()
        and not path.relative_to(site_packages(light)).parts[0].startswith(NOT_OURS)
    }
    assert any(path.name == "board.toml" for path in actual)
    assert sum(actual.values()) <= LIGHT_BYTES


def test_light_takes_a_program_to_a_board(light: Installation):
    program = exported("mlp")[0] / "model.pte"
    before = set(files_below(site_packages(light)))
    done = light.run("run", program, "--board", "corstone300", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["verified"], result["mismatches"]) == (True, 0)
    assert set(files_below(site_packages(light))) == before, "nothing goes into site-packages"


def test_light_says_what_exports_need(light: Installation):
    done = light.run("run", "mlp", "--board", "corstone300")
    assert done.returncode == 3
    hint = done.stderr.splitlines()[-1]
    assert re.search(r"--extra-index-url https://\S+ 'cmbuild\[export\] @ file://\S+\.whl'$", hint)


def test_light_doctor_names_the_packages_that_lack(light: Installation):
    done = light.run("doctor", "--json")
    assert done.returncode == 0
    components = {each["name"]: each for each in json.loads(done.stdout)["components"]}
    for name in ("torch", "torchvision", "executorch", "torchao", "tosa-tools"):
        assert components[name]["status"] == "optional"
        assert re.search(r"pip install .*'cmbuild\[export\] @ file:", components[name]["install"])
    assert components["arm-none-eabi-gcc"]["status"] == "present"


@pytest.mark.long
def test_with_export_takes_a_model_to_a_board(with_export: Installation):
    done = with_export.run("run", "mlp", "--board", "corstone300", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["model"], result["verified"]) == ("mlp", True)
    version = with_export.run("--version").stdout.splitlines()[0]
    assert version == f"cmbuild {VERSION}", "no commit: this is not the checkout"


@pytest.mark.parametrize("setup", ["light", "with_export", "checkout"])
def test_hints_lead_somewhere(setup: str, request: pytest.FixtureRequest, tmp_path: Path):
    """What an error says to do can be done: pages exist, pip finds what it is to install."""
    here = Installation((sys.executable, "-m", "cmbuild"), environment(tmp_path), tmp_path)
    installation = here if setup == "checkout" else request.getfixturevalue(setup)
    doctor = json.loads(installation.run("doctor", "--json", "--all").stdout)
    components = {each["name"]: each["install"] for each in doctor["components"]}
    # One with PyTorch's index and one without: the others are made the same way.
    for line in (components["torch"], components["west"]):
        program, *words = shlex.split(line)
        assert Path(program).is_absolute()
        dry = ("--dry-run", "--no-deps", "--no-index", "--no-build-isolation")
        wanted = [program, *words, *dry]
        done = subprocess.run(wanted, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "does not provide the extra" not in done.stdout + done.stderr
        if "[export]" in line:
            assert f"--extra-index-url {TORCH_INDEX}" in line
    (installation.folder / "cmbuild.toml").write_text("")
    done = installation.run("check")
    (installation.folder / "cmbuild.toml").unlink()
    (page,) = re.findall(r"(\S*docs/\w+\.md)", done.stderr)
    assert done.returncode == 2
    assert (ROOT / page if setup == "checkout" else Path(page)).is_file()
    page = installation.run("new", "board", "--help").stdout.split()
    (named,) = [word for word in page if word.endswith("docs/boards.md")]
    assert (ROOT / named if setup == "checkout" else Path(named)).is_file()
