"""Which of the runtime's files a plan needs."""

from __future__ import annotations

import pytest

from cmbuild import paths
from cmbuild.packaging.runtime_sources import EXECUTOR, needed_sources
from cmbuild.toolchain.kernel_sources import read_kernels
from cmcompiler.isa import Isa

ROOT = paths.runtime()


def names(kernels: set[str], isa: Isa) -> set[str]:
    actual = needed_sources(kernels, isa)
    assert list(actual) == sorted(actual)
    return {file.relative_to(ROOT).as_posix() for file in actual if file.suffix == ".c"}


def test_no_kernels_need_the_executor_alone() -> None:
    assert names(set(), Isa.MVE) == set(EXECUTOR)


@pytest.mark.parametrize("isa", Isa)
def test_a_kernel_brings_its_best_microkernels(isa: Isa) -> None:
    wanted = {"kernels/add.c", "isa/scalar/add_s8.c", f"isa/{isa.label}/add_affine_s8.c"}
    assert names({"add_s8"}, isa) - set(EXECUTOR) == wanted


def test_a_function_in_another_kernels_file_is_found() -> None:
    """attention_s8's microkernels call the kernel's cm_attention_mask."""
    assert "kernels/attention.c" in names({"attention_s8"}, Isa.MVE)


def test_every_kernel_has_its_files() -> None:
    everything = set(read_kernels())
    for isa in Isa:
        actual = names(everything, isa)
        assert {file for file in actual if file.startswith("kernels/")} == {
            f"kernels/{path.name}" for path in (ROOT / "kernels").glob("*.c")
        }
