"""Packages of models, in builds that know nothing of cmbuild."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from harness.commands import NETWORK, PROGRAMS, Commands
from harness.zephyr import CMAKE, NINJA

APPLICATION = """
#include <stdio.h>
#include "network_vectors.h"

static bool count(void *user, uint32_t op)
{
    (void)op;
    ++*(int *)user;
    return true;
}

int main(void)
{
    static NETWORK_ARENA(arena);
    struct network model;
    int steps = 0, wrong = 0;
    if (network_init(&model, arena, sizeof arena) != NETWORK_OK)
        return 1;
    network_set_hook(&model, count, &steps);
    for (uint32_t sample = 0; sample < NETWORK_VECTORS; ++sample) {
        if (network_vectors_load(&model, sample) != NETWORK_OK || network_run(&model) != NETWORK_OK)
            return 1;
        wrong += network_vectors_check(&model, sample) >= 0;
    }
    printf("%d steps, %d wrong of %d, %d inputs\\n", steps, wrong, NETWORK_VECTORS,
           NETWORK_INPUT_0_COUNT);
    return wrong;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(application C ASM)
add_subdirectory(package)
add_executable(application main.c)
target_link_libraries(application PRIVATE network)
"""


def run(*words: str | Path) -> str:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_source_package_is_a_library(cmbuild: Commands) -> None:
    folder = cmbuild.folder
    words = ("--as", "source", "--isa", "scalar", "-n", "3", "-o", "package", "--json")
    made = cmbuild("package", NETWORK, *words)
    assert made.exit_code == 0, made.stderr
    assert made.document["artifacts"] == {"package": str(folder / "package")}
    (folder / "main.c").write_text(APPLICATION)
    (folder / "CMakeLists.txt").write_text(PROJECT)
    run(CMAKE, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={NINJA}", "-S", folder, "-B", folder / "out")
    run(NINJA, "-C", folder / "out")
    assert run(folder / "out/application") == "15 steps, 0 wrong of 3, 90 inputs\n"


def test_checksums_are_of_all_files(cmbuild: Commands) -> None:
    assert cmbuild("package", NETWORK, "--as", "source", "-o", "made").exit_code == 0
    folder = cmbuild.folder / "made"
    manifest = json.loads((folder / "package.json").read_text())
    actual = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "package.json"
    }
    assert manifest["files"] == actual
    assert {"LICENSE", "network_weights.bin", "runtime/network_cm_conv2d.c"} <= actual.keys()
    assert (manifest["target"], manifest["isa"]) == ("cortex-m55", "mve")


@pytest.mark.parametrize("form", [pytest.param("zephyr", marks=pytest.mark.long), "source"])
def test_equal_requests_give_equal_packages(cmbuild: Commands, form: str) -> None:
    contents = []
    for name in ("first", "second"):
        words = ("--as", form, "-o", name, "--build-dir", f"build-{name}")
        made = cmbuild("package", NETWORK, *words)
        assert made.exit_code == 0, made.stderr
        folder = cmbuild.folder / name
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        contents.append({path.relative_to(folder): path.read_bytes() for path in files})
    assert contents[0] == contents[1]


def test_only_what_the_model_needs_is_in_the_package(cmbuild: Commands) -> None:
    words = ("--as", "source", "--target", "cortex-m0plus", "--name", "tiny", "-o", "made")
    made = cmbuild("package", NETWORK, *words, "--json")
    assert made.exit_code == 0, made.stderr
    assert made.document["model"] == "tiny"
    folder = cmbuild.folder / "made"
    assert {path.name for path in (folder / "runtime").glob("*.c")} == {
        f"tiny_cm_{name}.c"
        for name in (
            *("avg_pool2d", "conv2d", "dequantize", "linear", "quantize"),
            *("match", "program", "state", "step"),
            *("scalar_avg_window_s8", "scalar_copy_blocks_s8", "scalar_copy_windows_s8"),
            *("scalar_dequantize_s8", "scalar_gemm_s8", "scalar_gemv_s8", "scalar_quantize_s8"),
            # Named by conv2d and linear, whatever weights, range and types a model has, and by
            # avg_pool2d, whether it has all rows at once or not; the linker leaves them out.
            *("scalar_gemm_s8_apart", "scalar_gemm_s8_deep", "scalar_gemm_s8_dense"),
            "scalar_gemm_s8_shallow",
            "scalar_gemm_s8_w4_fixed",
            *("scalar_gemm_s8_w16", "scalar_gemv_s8_w16", "scalar_add_rows_s8", "scalar_clamp_s8"),
            *("scalar_gemm_s16", "scalar_gemm_s16_long", "scalar_gemv_s8_long"),
            "scalar_pack_rows_s16",
            *("scalar_gemm_s8_w4", "scalar_gemv_s8_w4", "scalar_gemm_s8_g4", "scalar_gemv_s8_g4"),
            *("scalar_gemm_s16_w4", "scalar_gemm_s16_long_w4"),
        )
    }
    assert {path.name for path in folder.glob("*.[chS]")} == {
        *("tiny.c", "tiny.h", "tiny_plan.c", "tiny_plan.h", "tiny_weights.S"),
        *("tiny_vectors.c", "tiny_vectors.h", "tiny_vectors.S"),
    }


def test_a_package_takes_the_place_of_an_earlier_one(cmbuild: Commands) -> None:
    """Under another name, for another core, with other kernels."""
    first = ("--as", "source", "--target", "cortex-m55", "--name", "first", "-o", "made")
    assert cmbuild("package", NETWORK, *first).exit_code == 0
    second = ("--as", "source", "--target", "cortex-m33", "--name", "second", "-o", "made")
    assert cmbuild("package", NETWORK, *second).exit_code == 0
    folder = cmbuild.folder / "made"
    manifest = json.loads((folder / "package.json").read_text())
    files = (path for path in folder.rglob("*") if path.is_file())
    listed = {path.relative_to(folder).as_posix() for path in files}
    assert listed == manifest["files"].keys() | {"package.json"}

    (folder / "second.c").write_text("changed")
    again = cmbuild("package", NETWORK, *first)
    assert again.exit_code == 2
    assert again.stderr.startswith(
        "error: would overwrite made/second.c (changed since cmbuild wrote it)\n"
    )
    assert not (folder / "first.c").exists()
    assert cmbuild("package", NETWORK, *first, "--force").exit_code == 0
    assert (folder / "first.c").exists() and not (folder / "second.c").exists()


def test_a_package_writes_over_nothing_of_others(cmbuild: Commands) -> None:
    words = ("package", NETWORK, "--as", "source", "--name", "kws", "-o", "made")
    folder = cmbuild.folder / "made"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text("mine")
    refused = cmbuild(*words)
    assert refused.exit_code == 2
    assert refused.stderr == (
        "error: would overwrite made/CMakeLists.txt (not written by cmbuild)\n"
        "  try: --force overwrites; or name another place\n"
    )
    assert [path.name for path in folder.iterdir()] == ["CMakeLists.txt"]
    (folder / "CMakeLists.txt").rename(folder / "mine.cmake")
    assert cmbuild(*words).exit_code == 0
    assert cmbuild(*words).exit_code == 0
    header = folder / "kws.h"
    header.write_text(header.read_text() + "/* mine */\n")
    refused = cmbuild(*words)
    assert refused.exit_code == 2
    assert "made/kws.h (changed since cmbuild wrote it)" in refused.stderr
    assert header.read_text().endswith("/* mine */\n")
    assert cmbuild(*words, "--force").exit_code == 0
    assert not header.read_text().endswith("/* mine */\n")
    # Its own record goes with it, wherever it is.
    folder.rename(cmbuild.folder / "moved")
    moved = cmbuild(*words[:-1], "moved", "--target", "cortex-m33")
    assert moved.exit_code == 0, moved.stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("nothing.pte",), "no such file: nothing.pte"),
        ((NETWORK, "--target", "cortex-m99"), "unknown target cortex-m99"),
        ((NETWORK, "--target", "cortex-m33", "--isa", "mve"), "cortex-m33 does not support mve"),
        ((NETWORK, "--input", "nothing.npz"), "no such file: nothing.npz"),
        ((NETWORK, "--name", "my-model"), "'my-model' is not a C identifier"),
        ((NETWORK, "--name", "int"), "'int' is a keyword of C or C++"),
        ((NETWORK, "--name", "x" * 240), f"'{'x' * 50}…' has 240 characters"),
        ((PROGRAMS / "delegate.pte",), ""),
    ],
)
def test_what_cannot_be_packaged_is_told(
    cmbuild: Commands, words: tuple[str, ...], error: str
) -> None:
    made = cmbuild("package", *words)
    assert made.exit_code == (2 if error else 1)
    assert f"error: {error}" in made.stderr
    assert "Traceback" not in made.stderr
