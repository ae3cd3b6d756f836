"""What is built of a checkout, and with which options."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import sleep

import pytest
from harness.checkout import FLATBUFFERS, environment, make_checkout
from harness.upstream import ROOT

from cmbuild.cache.folders import CacheFolder
from cmbuild.cache.locks import locked
from cmbuild.errors import ProcessFailed
from cmbuild.executorch.building import OtherCmsisNn, Parts, build, built, variables
from cmbuild.executorch.checkout import Checkout
from cmbuild.executorch.families import (
    FAMILIES,
    Family,
    assign,
    functions,
    needed_sources,
)
from cmbuild.executorch.tree import Tree
from cmbuild.firmware.builder import Builder
from cmbuild.process import Processes
from cmbuild.toolchain.toolchains import HOST, find_toolchain
from cmcompiler.isa import Isa
from cmcompiler.target import Target

FAMILY = {family.name: family for family in FAMILIES}


def operators(family: Family, count: int) -> dict[Family, tuple[str, ...]]:
    return {family: tuple(f"{family.name}::op{number}" for number in range(count))}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(make_checkout(tmp_path), "1.5.1", None)


def test_only_what_is_needed_is_built() -> None:
    few = Parts.of(operators(FAMILY["cortex_m"], 8), primitives=False)
    assert few.targets == (
        *("executorch_core", "cortex_m_kernels", "cmsis-nn", "kernels_util_all_deps"),
    )
    assert few.portable == ()
    everything = {family: (f"aten::{family.name}",) for family in FAMILIES}
    many = Parts.of(everything, primitives=True)
    assert many.targets[:2] == ("executorch_core", "executorch")
    assert {"portable_kernels", "quantized_kernels"} <= set(many.targets)
    assert many.portable == ("aten::custom", "aten::portable")


def test_programs_share_the_size_of_the_registry() -> None:
    """It is compiled into the core."""
    few = Parts.of(operators(FAMILY["cortex_m"], 1), primitives=False)
    many = Parts.of(operators(FAMILY["portable"], 60), primitives=True)
    assert few.registry == many.registry >= 60 + 25  # those that the runtime registers itself
    most = Parts.of(operators(FAMILY["portable"], 200), primitives=False)
    assert most.registry >= 200


def test_the_schema_compiler_is_the_installed_one_if_its_version_is_the_checkouts(
    checkout: Checkout,
) -> None:
    parts = Parts.of({}, primitives=False)
    assert checkout.flatbuffers == FLATBUFFERS
    assert variables(checkout, parts)["FLATC_EXECUTABLE"] == str(ROOT / "data" / "bin" / "flatc")
    header = checkout.root / "third-party/flatbuffers/include/flatbuffers/base.h"
    header.write_text(header.read_text().replace("MINOR 3", "MINOR 4"))
    assert checkout.flatbuffers == "24.4.25"
    assert "FLATC_EXECUTABLE" not in variables(checkout, parts)
    header.unlink()
    assert "FLATC_EXECUTABLE" not in variables(checkout, parts)


@pytest.mark.parametrize(
    ("text", "pin"),
    [
        (
            'set(CMSIS_NN_VERSION\n    "v7.0.0"\n CACHE STRING "x")\nGIT_TAG ${CMSIS_NN_VERSION}',
            "v7.0.0",
        ),
        ("FetchContent_Declare(cmsis_nn GIT_TAG dbf45db)", "dbf45db"),
        ('FetchContent_Declare(cmsis_nn GIT_TAG "dbf45db")', "dbf45db"),
        ("add_library(cmsis-nn)", None),
    ],
)
def test_the_pin_of_cmsis_nn(checkout: Checkout, text: str, pin: str | None) -> None:
    (checkout.root / "backends/cortex_m/CMakeLists.txt").write_text(text)
    assert checkout.cmsis_nn_pin == pin


KNOWN = {
    "aten::add.out": frozenset({"add_out"}),
    "aten::add.Scalar_out": frozenset({"add_scalar_out"}),
    "aten::sub.out": frozenset({"sub_out"}),
    "aten::acos.out": frozenset({"acos_out"}),
    "aten::mean.out": frozenset({"mean_dim_out"}),
    "aten::sum.out": frozenset({"sum_dim_out"}),
    "aten::lost.out": frozenset({"lost_out"}),
}


@pytest.mark.parametrize(
    ("names", "needed"),
    [
        (["aten::sub.out"], {"op_sub.cpp"}),
        (["aten::add.Scalar_out"], {"op_add.cpp"}),
        (["aten::acos.out"], {"op_acos.cpp"}),
        (["aten::mean.out"], {"op_mean.cpp", "op_sum.cpp"}),
        (["aten::sum.out"], {"op_mean.cpp", "op_sum.cpp"}),  # who calls it comes along
    ],
)
def test_sources_are_chosen_by_the_functions_they_mention(
    tmp_path: Path, names: list[str], needed: set[str]
) -> None:
    texts = {
        "op_add.cpp": "Tensor& add_out(Tensor& out); Tensor& add_scalar_out(Tensor& out);",
        "op_sub.cpp": "Tensor& sub_out(Tensor& out);",
        "op_acos.cpp": "DEFINE_UNARY(acos_out, std::acos)",
        "op_mean.cpp": "Tensor& mean_dim_out(Tensor& out) { return sum_dim_out(out); }",
        "op_sum.cpp": "Tensor& sum_dim_out(Tensor& out);",
        "unary_ufunc.cpp": "",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    sources = sorted(tmp_path.iterdir())
    listed = {file.name for file in needed_sources(sources, KNOWN, names)}
    assert listed == {*needed, "unary_ufunc.cpp"}
    assert needed_sources(sources, KNOWN, [*names, "aten::lost.out"]) == []


def test_functions_of_portable_operators() -> None:
    known = functions(ROOT)
    assert known["aten::add.out"] == {"add_out"}
    assert known["aten::_log_softmax.out"] == {"log_softmax_out"}
    assert known["dim_order_ops::_clone_dim_order.out"] == {"_clone_dim_order_out"}
    assert known["aten::allclose.out"] == {"allclose_out"}
    assert all(known.values())


CLONE = "dim_order_ops::_clone_dim_order.out"
PERMUTE = "aten::permute_copy.out"
Compile = Callable[..., set[str]]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """With this computer's own compiler."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    processes = Processes()
    toolchain = find_toolchain(HOST, processes, tmp_path / "toolchain.log")
    monkeypatch.setenv("CMBUILD_CACHE", str(tmp_path / "cache"))
    builder = Builder(processes, toolchain, Target("cortex-m55", Isa.SCALAR))
    return Tree(CacheFolder.EXECUTORCH.path / "tree", builder)


@pytest.fixture
def notes() -> list[str]:
    """What the user is told."""
    return []


@pytest.fixture
def compile_(tmp_path: Path, tree: Tree, notes: list[str]) -> Compile:
    """Builds what operators need, in one tree; the names of the files that were compiled."""

    def get(checkout: Checkout, *names: str) -> set[str]:
        parts = Parts.of(assign(checkout.root, names), primitives=False)
        folder = tmp_path / f"libraries-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        build(checkout, parts, tree, folder, notes.append)
        assert all(file.is_file() for file in built(checkout, parts, folder).libraries)
        log = (folder / "build.log").read_text()
        return set(re.findall(r"Building CXX? object \S+/(\w+\.\w+)\.o", log))

    return get


def test_only_what_is_new_is_compiled(checkout: Checkout, compile_: Compile) -> None:
    first = compile_(checkout, CLONE)
    assert first == {"copy_ops_util.cpp", "op__clone_dim_order.cpp"}
    assert compile_(checkout, CLONE) == set()
    assert compile_(checkout, CLONE, PERMUTE) == {"op_permute_copy.cpp"}
    assert "kernels.cpp" in compile_(checkout, "cortex_m::minimum.out")
    with pytest.raises(ProcessFailed, match="abs_out is built only if a program needs it"):
        compile_(checkout, "aten::abs.out")
    assert compile_(checkout, CLONE, PERMUTE) == set()


def test_a_build_that_failed_is_continued(checkout: Checkout, compile_: Compile) -> None:
    file = checkout.root / "kernels/portable/cpu/op_permute_copy.cpp"
    good = file.read_text()
    compile_(checkout, CLONE)
    file.write_text(f"{good}#error broken\n")
    with pytest.raises(ProcessFailed, match="#error broken"):
        compile_(checkout, CLONE, PERMUTE)
    file.write_text(good)
    assert compile_(checkout, CLONE, PERMUTE) == {"op_permute_copy.cpp"}


def test_an_older_file_in_place_of_a_newer_one_is_compiled(
    checkout: Checkout, compile_: Compile
) -> None:
    """As when another checkout is moved there: ninja goes by time, and would see no change."""
    compile_(checkout, PERMUTE)
    file = checkout.root / "kernels/portable/cpu/op_permute_copy.cpp"
    file.write_text(f"{file.read_text()}// Older.\n")
    os.utime(file, (0, 0))
    assert "op_permute_copy.cpp" in compile_(checkout, PERMUTE)


def test_a_kept_object_that_has_changed_is_not_linked(
    checkout: Checkout, compile_: Compile, tree: Tree
) -> None:
    """Ninja goes by time, and would see nothing."""
    first = compile_(checkout, CLONE)
    kept = next(tree.folder.rglob("op__clone_dim_order.cpp.o"))
    times = kept.stat()
    data = bytearray(kept.read_bytes())
    data[len(data) // 2] ^= 1
    kept.write_bytes(data)
    os.utime(kept, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert compile_(checkout, CLONE) == first


def test_a_command_says_that_it_waits_for_another_one_in_the_same_tree(
    checkout: Checkout, compile_: Compile, tree: Tree, notes: list[str]
) -> None:
    with ThreadPoolExecutor() as pool:
        with locked(tree.lock, lambda: None):
            second = pool.submit(compile_, checkout, CLONE)
            while not notes:
                sleep(0.01)
        second.result()
    assert notes == [f"another command is building {checkout.root}; waiting for it"]


def test_why_cmake_failed_is_told(checkout: Checkout, compile_: Compile) -> None:
    reason = "a reason that takes more than one of the lines that CMake breaks its messages into"
    (checkout.root / "CMakeLists.txt").write_text(f'message(FATAL_ERROR "{reason}")\n')
    with pytest.raises(ProcessFailed) as error:
        compile_(checkout, CLONE)
    assert error.value.message == (
        f"cmake failed with status 1: CMake Error at CMakeLists.txt:1 (message): {reason}"
    )
    assert "configure.log" in (error.value.hint or "")


def test_cmsis_nn_that_is_too_old_is_told_with_the_commit_to_use(
    checkout: Checkout, compile_: Compile, tmp_path: Path
) -> None:
    folder = tmp_path / "CMSIS-NN"
    (folder / "Include").mkdir(parents=True)
    (folder / "Include" / "arm_nnfunctions.h").write_text("#pragma once\n")
    with pytest.raises(OtherCmsisNn) as error:
        compile_(replace(checkout, cmsis_nn=folder), "cortex_m::minimum.out")
    assert error.value.message.startswith(f"{folder} is not the CMSIS-NN that {checkout.root}")
    assert "arm_softmax_s8" in error.value.message
    told = f"git -C {folder} fetch origin v7.0.0 && git -C {folder} checkout v7.0.0"
    assert (error.value.hint or "").startswith(told)
