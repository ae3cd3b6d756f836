"""A project's own ops: found through cmbuild.toml, built in, and told by file and line when broken.

docs/adding-an-op.md has one with all that belongs to it; here it is a program that needs no torch.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from harness.commands import PROGRAMS, Commands

DATA = Path(__file__).parents[2] / "data"
PROGRAM = PROGRAMS / "own_operator.pte"  # workshop::scale(x, 2.5)


@pytest.fixture
def project(cmbuild: Commands) -> Commands:
    shutil.copytree(DATA / "own_ops", cmbuild.folder, dirs_exist_ok=True)
    return cmbuild


def edit(project: Commands, file: str, old: str, new: str) -> None:
    path = project.folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_an_own_op_runs_and_what_depends_on_a_change_is_redone(project: Commands) -> None:
    words = ("run", PROGRAM, "--board", "corstone300", "--json")
    np.save(project.folder / "x.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    document = project(*words, "--input", "x.npy").document
    assert document["verified"]
    result = np.load(document["outputs"][0]["file"])
    np.testing.assert_array_equal(result, 2.5 * np.arange(6).reshape(2, 3))
    assert project(*words).done == {"reference", "simulate"}

    edit(project, "kernels/scale.c", "/* Multiples", "/* All multiples")
    assert project(*words).done == {"plan", "libs", "runner", "simulate"}
    edit(project, "kernels/scale.c", "* cm_float", "/ cm_float")
    wrong = project(*words)
    assert wrong.exit_code == 1
    assert wrong.done >= {"plan", "libs", "runner", "simulate"}
    assert wrong.document["first_difference"].startswith("op 0, scale (workshop::scale.out #0)")
    edit(project, "kernels/scale.c", "/ cm_float", "* cm_float")
    edit(project, "ops/_arrays.py", "is no op itself", "is none itself")
    assert project(*words).done == {"plan", "reference", "runner", "simulate"}


def test_ops_belong_to_their_project(project: Commands, tmp_path: Path) -> None:
    (project.folder / "ops" / "loud.py").write_text('print("imported")\n')
    elsewhere = Commands(tmp_path, project.cache)
    result = elsewhere("run", PROGRAM, "--board", "native")
    assert result.exit_code == 1
    assert "no kernel for 1 operator: workshop::scale.out" in result.stderr
    assert "imported" not in result.stdout
    listed = project("boards")
    assert (listed.exit_code, "imported" in listed.stdout) == (0, False)


@pytest.mark.parametrize(
    ("file", "old", "new", "error"),
    [
        ("cmbuild.toml", "host", "hots", "cmbuild.toml:2: ops.hots: unknown key"),
        ("cmbuild.toml", '"ops"', "1", "cmbuild.toml:2: ops.host: input should be a valid string"),
        ("cmbuild.toml", '"kernels"', '"c"', "cmbuild.toml:3: ops.kernels: no such folder: c"),
        ("ops/scale.py", "def read(", "def read)", "ops/scale.py:44: SyntaxError: "),
        ("ops/scale.py", "numpy as np", "numpi", "ops/scale.py:9: ModuleNotFoundError: No module"),
        ("ops/scale.py", "_arrays", "arrays", "ops/scale.py:17: ModuleNotFoundError: No module"),
        (
            "ops/scale.py",
            "workshop::scale.out",
            "aten::clone.out",
            "ops/scale.py:43: ValueError: aten::clone.out is registered twice",
        ),
        ("ops/scale.py", 'number("factor")', 'number("f")', "ops/scale.py:47: KeyError: 'f'"),
        ("ops/scale.py", 'number("factor")', 'integer("factor")', "factor is not an integer"),
        ("ops/scale.py", "numel", "elements", "ops/scale.py:37: AttributeError: 'Tensor' object"),
        ("ops/_arrays.py", "x *", "1 // 0 *", "ops/_arrays.py:7: ZeroDivisionError: "),
        (
            "ops/scale.py",
            '"scale_f32"',
            '"scale"',
            "workshop::scale.out #0: no C file defines the kernel cm_scale",
        ),
        (
            "ops/scale.py",
            '"count"',
            '"n"',
            "workshop::scale.out #0: input, output, n, factor are not the fields of cm_scale_f32, "
            "input, output, count, factor",
        ),
        (
            "kernels/scale.c",
            "cm_scale_f32",
            "cm_activation_s8",
            "kernels/scale.c:11: cm_activation_s8 is defined in ",
        ),
        (
            "kernels/scale.c",
            "struct cm_scale_f32",
            "struct scale",
            "kernels/scale.c:11: cm_scale_f32 has no struct cm_scale_f32 for its arguments",
        ),
        (
            "kernels/scale.c",
            "uint32_t factor",
            "float factor",
            "kernels/scale.c:11: cm_scale_f32 takes struct cm_scale_f32, but 'float factor' "
            "declares no 32-bit fields",
        ),
        ("kernels/scale.c", "output[i] =", "output[i] == }", "kernels/scale.c:17:"),
    ],
)
def test_a_broken_op_is_one_line_with_its_place(
    project: Commands, file: str, old: str, new: str, error: str
) -> None:
    edit(project, file, old, new)
    result = project("run", PROGRAM, "--board", "corstone300", "-j", "1")
    message, *hints = result.stderr.splitlines()
    assert error in message
    assert message.startswith("error: ")
    assert len(hints) <= 1
    assert result.exit_code == (1 if file == "kernels/scale.c" and ":17:" in error else 2)
    assert "Traceback" not in result.stdout + result.stderr
