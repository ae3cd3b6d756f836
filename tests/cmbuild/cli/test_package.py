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
#include "cmrt/executor.h"
#include "cmrt/vectors.h"
#include "model_io.h"
#include "model.h"

static bool count(void *user, uint32_t step, uint64_t ticks)
{
    (void)step, (void)ticks;
    ++*(int *)user;
    return true;
}

int main(void)
{
    int steps = 0, wrong = 0;
    for (uint32_t sample = 0; sample < cm_model_vectors.samples; ++sample) {
        cm_vectors_load(sample);
        if (!cm_executor_run(count, &steps))
            return 1;
        wrong += cm_vectors_check(sample) >= 0;
    }
    printf("%d steps, %d wrong of %d, %d inputs\\n", steps, wrong, (int)cm_model_vectors.samples,
           CM_MODEL_INPUT_0_COUNT);
    return wrong;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.20)
project(application C ASM)
add_subdirectory(package)
add_executable(application main.c)
target_link_libraries(application PRIVATE network_model)
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
    found = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "package.json"
    }
    assert manifest["files"] == found
    assert {"LICENSE", "weights.bin", "runtime/kernels/conv2d.c"} <= found.keys()
    assert (manifest["target"], manifest["isa"]) == ("cortex-m55", "mve")


def test_equal_requests_give_equal_packages(cmbuild: Commands) -> None:
    for name in ("first", "second"):
        made = cmbuild("package", NETWORK, "-o", name, "--build-dir", f"build-{name}")
        assert made.exit_code == 0, made.stderr
    first, second = (cmbuild.folder / name for name in ("first", "second"))
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in names)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("nothing.pte",), "no such file: nothing.pte"),
        ((NETWORK, "--target", "cortex-m99"), "unknown target cortex-m99"),
        ((NETWORK, "--target", "cortex-m33", "--isa", "mve"), "cortex-m33 does not support mve"),
        ((NETWORK, "--input", "nothing.npz"), "no such file: nothing.npz"),
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
