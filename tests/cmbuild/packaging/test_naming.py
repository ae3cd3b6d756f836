"""Names of packages: what can be one compiles beside everything, the rest has a reason."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from harness.package_calls import two_inputs_with_state
from harness.packages import run

from cmbuild.packaging.naming import LONGEST, UnfitName, check_name, fitting_name, problem_of
from cmcompiler import zoo
from cmcompiler.emit.interface import PackageInterface, c_string
from cmcompiler.emit.recording import record
from cmcompiler.emit.source import identifier
from cmcompiler.isa import Isa
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan

HEADERS = (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal "
    "stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath time "
    "unistd wchar wctype"
)
ONLY_C = ("complex", "stdatomic", "stdnoreturn", "tgmath")
BAD = [
    "int",
    "class",
    "xor",
    "std",
    "main",
    "NULL",
    "int8_t",
    "uint32_t",
    "size_t",
    "string",
    "stdio",
    "errno",
    "time",
    "assert",
    "stdin",
    "a__b",
    "kws_",
    "my_t",
    "cm",
    "cm_net",
    "CMRT_x",
    "all",
    "clean",
    "test",
    "m",
    "pthread",
    "cld",
    "linux",
    "unix",
    "FILE",
    "printf",
    "bool",
    "NDEBUG",
    "SysTick",
    "DWT",
    "HIGH",
]
COMPILERS = {
    "newlib-c": ("arm-none-eabi-gcc", "-mcpu=cortex-m33", "-std=gnu11", "-xc"),
    "newlib-c++": ("arm-none-eabi-g++", "-mcpu=cortex-m33", "-std=gnu++17", "-xc++"),
    "glibc-c": ("gcc", "-std=gnu11", "-xc"),
    "glibc-c++": ("g++", "-std=gnu++17", "-xc++"),
}


@pytest.mark.parametrize("name", [*BAD, "", "2nd", "a-b", "_x", "template", "ä", "x" * 240])
def test_what_cannot_begin_symbols_is_refused(name: str) -> None:
    with pytest.raises(UnfitName) as caught:
        check_name(name)
    assert caught.value.exit_code == 2 and len(caught.value.message) < 160


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("int", "'int' is a keyword of C or C++"),
        ("my-model", "'my-model' is not a C identifier"),
        ("String", "'String' would make a header String.h, which hides another of this name"),
        ("int8_t", "'int8_t' is reserved by C, C++ or POSIX: no __, and no _ or _t at the end"),
        ("printf", "'printf' is a name of the C or C++ library"),
        ("m", "'m' is a library of toolchains or a target of CMake's"),
        ("timespec", "'timespec' is a name of the C or C++ library"),
        ("x" * 240, f"'{'x' * LONGEST}…' has 240 characters; a name has at most {LONGEST}"),
    ],
)
def test_the_reason_is_told(name: str, problem: str) -> None:
    with pytest.raises(UnfitName, match=re.escape(problem)):
        check_name(name)


def test_usual_names_are_fine() -> None:
    names = [*map(identifier, zoo.names()), "kws", "KWS", "r", "f", "net2", "int8", "x" * LONGEST]
    assert [name for name in names if problem_of(name) is not None] == []


def test_names_of_files_are_made_fit() -> None:
    for stem in (*BAD, "x" * 240, "2nd", "kws", "my-model"):
        plain = identifier(stem)
        name = fitting_name(plain)
        assert check_name(name) == name
        assert name == plain or name.startswith("model_") or len(plain) > LONGEST
    assert fitting_name("string") == "model_string" and fitting_name("kws") == "kws"
    long = [fitting_name("x" * 100 + end) for end in "ab"]
    assert long[0] != long[1]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_is_accepted_compiles_beside_the_c_library(compiler: str, tmp_path: Path) -> None:
    """Every identifier and macro of the C library is refused, or the header with it compiles."""
    command, is_cpp = COMPILERS[compiler], compiler.endswith("++")
    wanted = [name for name in HEADERS.split(" ") if not (is_cpp and name in ONLY_C)]
    includes = "".join(f"#include <{name}.h>\n" for name in wanted)
    texts = [_preprocessed(includes, *command, *flags) for flags in ((), ("-dM",))]
    matches = set(re.findall(r"(?<!\w)[A-Za-z]\w*", "".join(texts)))
    plan = make_plan(two_inputs_with_state(), Isa.SCALAR, PlanOptions(feed="rows"))

    def header(name: str) -> str:
        return PackageInterface.of(record(plan, name, "")).header()

    # Also the names whose own macros and statuses would be the library's.
    ends = "|".join(set(re.findall(r"\bKWS(_\w+)", header("kws"))))
    begun = re.findall(rf"(?<!\w)([A-Za-z]\w*)(?:{ends})(?!\w)", " ".join(matches))
    names = sorted(
        name for name in matches | {x.lower() for x in begun} if problem_of(name) is None
    )
    assert len(matches) > 1000 and len(names) > 50 and {"f", "r", "w", "x"} <= set(names)
    parts, macros = [includes], set()
    for name in names:
        if name.upper() not in macros:
            macros.add(name.upper())
            parts.append(header(name))
    source = tmp_path / "names"
    source.write_text("".join(parts))
    run(*command, "-fsyntax-only", source)


@pytest.mark.parametrize("order", [("unistd", "r"), ("r", "unistd")])
def test_statuses_are_not_those_of_unistd(order: tuple[str, str], tmp_path: Path) -> None:
    """Whatever is included first, OK is 0, and R_OK what it was if nobody else has it."""
    plan = make_plan(two_inputs_with_state(), Isa.SCALAR)
    text = PackageInterface.of(record(plan, "r", "")).header()
    assert "!= R_STATUS_OK)" in text and "!= R_OK)" not in text
    (tmp_path / "r.h").write_text(text)
    wanted = {
        "both.c": [*order, "R_STATUS_OK == 0 && R_NO_CONTEXT == 1 && R_OK == 4"],
        "alone.c": ["r", "R_STATUS_OK == 0 && R_NO_CONTEXT == 1 && R_OK == R_STATUS_OK"],
    }
    for file, (*headers, claim) in wanted.items():
        includes = "".join(f"#include <{name}.h>\n" for name in headers)
        (tmp_path / file).write_text(f'{includes}_Static_assert({claim}, "status");\n')
        flags = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", tmp_path)
        run("gcc", *flags, tmp_path / file)


def _preprocessed(text: str, *command: str) -> str:
    words = [*command, "-E", "-P", "-"]
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=True)
    return re.sub(r'"[^"\n]*"', "", done.stdout)


def test_every_header_of_the_c_library_is_refused() -> None:
    """Those that programs for Cortex-M find."""
    listing = subprocess.run(
        ["arm-none-eabi-gcc", "-E", "-v", "-xc", "/dev/null"],
        capture_output=True,
        text=True,
        check=True,
    )
    folders = [Path(line.strip()) for line in listing.stderr.splitlines() if line[:2] == " /"]
    stems = {file.stem for folder in folders for file in folder.glob("*.h")}
    assert {"stdio", "string"} <= stems
    assert sorted(stem for stem in stems if problem_of(stem) is None) == []


def test_a_text_that_looks_like_a_name_of_the_runtime_stays() -> None:
    from cmbuild.packaging.renaming import renamed

    for text in ("cm_cat", "a CM_1 and cmrt_x", "kws", "CMRT_2"):
        pieces = re.findall(r'"([^"]*)"', renamed(c_string(text), "kws"))
        assert "".join(pieces) == text
