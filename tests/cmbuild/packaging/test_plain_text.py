"""Sources in ASCII whose strings keep their bytes."""

from __future__ import annotations

from pathlib import Path

from harness.packages import run

from cmbuild.packaging.plain_text import plain_sources

SOURCE = """\
/* conv2d 3×3 … "Ω" */
#include <stdio.h>
// ≥ 1 "
int main(void)
{
    puts("caf\u00e91 \\" 3\u00d73 /* \u00e4 */");
    return 0;
}
"""


def test_comments_are_spelt_and_strings_keep_their_bytes(tmp_path: Path) -> None:
    plain = plain_sources({"a.c": SOURCE.encode()})["a.c"]
    assert plain.isascii()
    assert b'*/\n/* conv2d 3x3 ... "?" */\n' in plain
    for name, content in (("before", SOURCE.encode()), ("after", plain)):
        (tmp_path / f"{name}.c").write_bytes(content)
        run("gcc", tmp_path / f"{name}.c", "-o", tmp_path / name)
    assert run(tmp_path / "before") == run(tmp_path / "after") == 'café1 " 3×3 /* ä */\n'


def test_code_says_its_licence_and_whose_the_numbers_are() -> None:
    own = {"kernels/b.c": b"int b;\n", "package.json": "×".encode(), "kws_weights.bin": b"\xff"}
    names = ("runtime/a.c", "kws.h", "kws_weights.S", "kws_plan.c", "CMakeLists.txt", "x.cmake")
    licensed = dict.fromkeys(names, b"text\n")
    made = plain_sources(own | licensed)
    assert {path: made[path] for path in own} == own
    for path in licensed:
        first, *rest = made[path].decode().splitlines()
        assert first.strip("/*# ") == "SPDX-License-Identifier: BSD-3-Clause"
        has_numbers = path.endswith(("_weights.S", "_plan.c"))
        assert (len(rest) == 2 and "owner decides on" in rest[0]) == has_numbers
    assert plain_sources(made) == made
