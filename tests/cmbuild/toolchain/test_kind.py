"""What is said of each toolchain."""

from __future__ import annotations

from cmbuild import paths
from cmbuild.toolchain.kind import ToolchainKind
from cmbuild.toolchain.toolchains import DEFAULT, HOST, TOOLCHAINS


def test_one_is_the_default_and_one_this_computers() -> None:
    assert [name for name, kind in TOOLCHAINS.items() if kind.is_default] == [DEFAULT]
    assert [name for name, kind in TOOLCHAINS.items() if kind.is_host] == [HOST]


def test_files_for_cmake_are_there() -> None:
    kinds: list[ToolchainKind] = [kind for kind in TOOLCHAINS.values() if not kind.is_host]
    assert all((paths.runtime() / "cmake" / str(kind.file)).is_file() for kind in kinds)
