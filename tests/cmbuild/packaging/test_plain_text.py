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
    assert plain.startswith(b'/* conv2d 3x3 ... "?" */')
    for name, content in (("before", SOURCE.encode()), ("after", plain)):
        (tmp_path / f"{name}.c").write_bytes(content)
        run("gcc", tmp_path / f"{name}.c", "-o", tmp_path / name)
    assert run(tmp_path / "before") == run(tmp_path / "after") == 'café1 " 3×3 /* ä */\n'


def test_files_of_the_runtime_say_their_licence() -> None:
    files = {"runtime/a.c": b"int a;\n", "kws.c": b"int b;\n", "package.json": "×".encode()}
    made = plain_sources(files)
    assert made["runtime/a.c"].startswith(b"/* SPDX-License-Identifier: BSD-3-Clause */\n")
    assert (made["kws.c"], made["package.json"]) == (files["kws.c"], files["package.json"])
