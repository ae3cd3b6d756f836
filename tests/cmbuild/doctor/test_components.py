"""The doctor on machines that have things, lack them, or have them broken."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from importlib import metadata
from pathlib import Path

import pytest

from cmbuild.doctor import components
from cmbuild.doctor.components import Component, Status
from cmbuild.report.doctor import DoctorReport
from cmbuild.toolchain import versions
from cmcompiler.installation import TORCH_INDEX

ROOT = Path(__file__).parents[3]
FVP = "FVP_Corstone_SSE-300_Ethos-U55"


def found() -> dict[str, Component]:
    return {component.name: component for component in components.components()}


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on PATH and no packages; gives the folder that is on PATH."""

    def lacking(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("CMBUILD_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FVP_HOME", raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(metadata, "distribution", lacking)
    monkeypatch.setattr(metadata, "version", lacking)
    monkeypatch.setattr(components, "_has_zig", lambda: False)
    monkeypatch.setattr(components, "_has_unicorn", lambda: False)
    return folder


def write(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_this_machine_has_what_the_tests_need():
    components = found()
    lacking = [component for component in components.values() if component.is_lacking]
    assert lacking == []
    assert components["executorch"].version == metadata.version("executorch") == "1.5.1"
    assert components["qemu-system-arm"].path is not None
    assert all(c.path is not None for c in components.values() if c.status is Status.PRESENT)


def test_nothing_there_is_all_missing_with_commands(bare: Path):
    components = found()
    optional = {name for name, c in components.items() if c.status is Status.OPTIONAL}
    others = {"git", "clang", "west", "arm-none-eabi-g++", "cc", "scikit-learn", "pillow"}
    others |= {*versions.EXPORT_PACKAGES}
    assert {FVP, *others} <= optional
    assert all(name.startswith("FVP_") for name in optional - others)
    present = {name for name, c in components.items() if c.status is Status.PRESENT}
    assert present <= {"python", "disk", "zig"}
    for component in components.values():
        assert component.needed_by
        assert component.install or component.name == "python"
    sudo = "" if os.geteuid() == 0 else "sudo "
    assert components["arm-none-eabi-gcc"] == Component(
        name="arm-none-eabi-gcc",
        version=None,
        path=None,
        status=Status.MISSING,
        needed_by="every board but native",
        install=f"{sudo}apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi",
    )
    pip = [f"{bare.parent}/python", "-m", "pip", "install"]
    index = ["--extra-index-url", TORCH_INDEX]
    assert shlex.split(components["torch"].install) == [*pip, *index, "-e", f"{ROOT}[export]"]


def test_what_pip_installs_makes_the_rest_optional(bare: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(components, "_has_zig", lambda: True)
    monkeypatch.setattr(components, "_has_unicorn", lambda: True)
    there = found()
    assert there["arm-none-eabi-gcc"].status is Status.OPTIONAL
    assert there["qemu-system-arm"].status is Status.OPTIONAL
    assert there["torch"].status is Status.OPTIONAL


def test_broken_things_say_what_is_wrong(bare: Path):
    write(bare / "qemu-system-arm", "echo QEMU emulator version 5.2.0")
    write(
        bare / "arm-none-eabi-gcc", "[ $1 = --version ] && echo 12.2.1 && exit; cannot find; exit 1"
    )
    write(bare / "cc", "exit 1")
    components = found()
    assert components["qemu-system-arm"].problem == "too old, needs 6.0"
    assert components["qemu-system-arm"].status is Status.UNUSABLE
    assert components["qemu-system-arm"].version == "5.2.0"
    assert components["arm-none-eabi-gcc"].problem == "cannot build for cortex-m55"
    assert components["cc"].problem == "does not run"


def test_a_broken_tool_that_nothing_depends_on_is_optional(bare: Path):
    write(bare / "arm-none-eabi-g++", "[ $1 = --version ] && echo 12.2.1 && exit; exit 1")
    broken = found()["arm-none-eabi-g++"]
    assert (broken.status, broken.problem) == (Status.OPTIONAL, "without libstdc++")


def test_a_platform_is_found_where_its_launcher_finds_it(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home = tmp_path / "fvp/models/Linux64"
    home.mkdir(parents=True)
    path = write(home / FVP, "echo 'Fast Models [11.27.42 (Sep 2024)]'")
    monkeypatch.setenv("FVP_HOME", str(tmp_path / "fvp"))
    platform = found()[FVP]
    assert (platform.status, platform.path) == (Status.PRESENT, path)
    assert (platform.version, platform.needed_by) == ("11.27.42", "corstone300")


def test_a_broken_board_does_not_stop_the_doctor(bare: Path, monkeypatch: pytest.MonkeyPatch):
    board = bare.parent / "boards/broken"
    board.mkdir(parents=True)
    (board / "board.toml").write_text("title =")
    monkeypatch.setenv("CMBUILD_BOARD_PATH", str(board.parent))
    assert FVP in found()


def test_nothing_that_a_project_names_is_started(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Whoever is handed a project has not asked for any of its boards."""
    started = tmp_path / "started"
    write(bare / "theirs", f"touch {started}; echo 1.0")
    shutil.copytree(ROOT / "boards/corstone300", tmp_path / "boards/theirs")
    descriptor = tmp_path / "boards/theirs/board.toml"
    descriptor.write_text(descriptor.read_text().replace(FVP, "theirs"))
    monkeypatch.chdir(tmp_path)
    assert "theirs" not in found()
    assert not started.exists()


@pytest.mark.parametrize(("free", "status"), [(1 << 40, Status.PRESENT), (1, Status.UNUSABLE)])
def test_a_full_disk_is_a_problem(monkeypatch: pytest.MonkeyPatch, free: int, status: Status):
    usage = type("Usage", (), {"free": free})
    monkeypatch.setattr(components.shutil, "disk_usage", lambda place: usage)
    assert found()["disk"].status is status


def test_a_set_up_without_any_export_package_lacks_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(components, "_has_export", lambda: False)
    monkeypatch.setattr(
        metadata, "distribution", lambda name: (_ for _ in ()).throw(metadata.PackageNotFoundError)
    )
    there = found()
    assert {there[name].status for name in versions.EXPORT_PACKAGES} == {Status.OPTIONAL}
    assert [each.name for each in there.values() if each.is_lacking] == []
    shown = DoctorReport(list(there.values())).screen().plain
    assert shown.endswith(
        "all there to run programs; models in PyTorch need the packages of export"
    )


def test_half_an_export_is_missing_the_rest(monkeypatch: pytest.MonkeyPatch):
    whole = metadata.distribution

    def lacking(name: str) -> metadata.Distribution:
        if name == "torchao":
            raise metadata.PackageNotFoundError(name)
        return whole(name)

    monkeypatch.setattr(metadata, "distribution", lacking)
    assert found()["torchao"].status is Status.MISSING


def test_without_torch_the_disk_must_hold_it(bare: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(components, "_has_export", lambda: True)
    usage = type("Usage", (), {"free": 9 << 30})
    monkeypatch.setattr(components.shutil, "disk_usage", lambda place: usage)
    assert found()["disk"].problem == "less than 10 GB"


def test_versions_name_what_is_there():
    actual = versions.all_versions()
    assert actual["cmbuild"].startswith(metadata.version("cmbuild"))
    assert actual["torch"] == metadata.version("torch")
    assert {"python", "executorch", "arm-none-eabi-gcc", "qemu-system-arm"} <= actual.keys()


def test_versions_leave_out_what_is_not(bare: Path):
    assert versions.all_versions().keys() == {"cmbuild", "python"}
