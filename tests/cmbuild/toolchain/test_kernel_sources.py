"""What C files say of kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from cmbuild import paths
from cmbuild.toolchain.kernel_sources import BrokenKernel, read_kernels

FUNCTION = "void cm_{}(const struct cm_context *context,\n    const struct cm_call *call);\n"


def test_every_kernel_of_ours_is_found_with_its_fields() -> None:
    kernels = read_kernels()
    text = "".join(file.read_text() for file in (paths.runtime() / "kernels").glob("*.c"))
    assert len(kernels) == text.count("\nvoid cm_")
    assert kernels["activation_s8"].fields == ("input", "table", "output", "count")
    assert kernels["activation_s8"].file.name == "activation.c"


def test_structs_may_be_shared_and_nested(tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text(
        "struct cm_place { cm_ref data; int32_t x, y; };\n"
        "struct cm_mine { struct cm_place from, to; /* in words */ uint32_t count; };\n"
        + FUNCTION.format("mine_s8")
        + FUNCTION.format("mine_f32")
    )
    kernels = read_kernels(tmp_path)
    fields = ("from.data", "from.x", "from.y", "to.data", "to.x", "to.y", "count")
    assert kernels["mine_s8"].fields == kernels["mine_f32"].fields == fields
    assert (kernels["mine_s8"].line, kernels["mine_f32"].line) == (3, 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "struct cm_mine { cm_ref x; };\n"
            "void cm_mine(const struct cm_context *context, const void *arguments);\n",
            "mine.c:2: cm_mine takes other parameters than const struct cm_context *, const struct",
        ),
        (FUNCTION.format("mine"), "mine.c:1: cm_mine has no struct cm_mine for its arguments"),
        (
            "struct cm_mine { float x; };\n" + FUNCTION.format("mine"),
            "mine.c:2: cm_mine takes struct cm_mine, but 'float x' declares no 32-bit fields",
        ),
        (
            "struct cm_mine { struct cm_yours x; };\n" + FUNCTION.format("mine"),
            "mine.c:2: cm_mine takes struct cm_mine, but 'struct cm_yours x' declares no",
        ),
        (
            "struct cm_mine { cm_ref x; };\n" + FUNCTION.format("mine") * 2,
            "mine.c:4: cm_mine is defined in {folder}/mine.c, too",
        ),
    ],
)
def test_a_broken_kernel_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text(text)
    with pytest.raises(BrokenKernel) as error:
        read_kernels(tmp_path)
    assert message.format(folder=tmp_path) in error.value.message
