"""Firmware that links packages of models, as a user's build does."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from cmbuild import paths
from cmbuild.boards.link_script import link_script
from cmbuild.catalog import find_board
from cmbuild.launchers.registry import launchers_of, simulated_memory
from cmbuild.toolchain import tools
from cmcompiler.target import Target
from harness.libraries import builder, library
from harness.sources import ROOT

SOURCES = Path(__file__).parents[1] / "cmbuild" / "packaging" / "firmware"
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wcast-qual", "-pedantic", "-Werror"]

_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(firmware {languages} ASM)
include({runtime}/cmake/firmware.cmake)
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:{warnings}>")
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-std=c++17;-fno-exceptions;-fno-rtti>")
set(CMRT_ROOT {root})
if(CMRT_LIBC)
    include_directories(SYSTEM {root}/libc/include)
endif()
{before}
{packages}
cmrt_firmware(firmware {main})
{after}
target_include_directories(firmware PRIVATE {runtime}/include)
target_link_libraries(firmware PRIVATE {names})
"""
_FAULTS = "    .rept 14 + CM_INTERRUPTS\n    .word cm_fault\n    .endr\n"
_OWN = "    .rept {}\n    .word cm_fault\n    .endr\n    .word {}\n"
_REST = "    .rept 16 + CM_INTERRUPTS - {}\n    .word cm_fault\n    .endr\n"
TICK = {15: "tick"}
"""The function that handles the SysTick exception."""


def documented(name: str) -> str:
    """The code of an example of docs/packages.md, by the first word of the comment before it."""
    text = (ROOT / "docs" / "packages.md").read_text()
    (code,) = re.findall(f"<!-- {name}: [^\\n]*-->\n```[a-z]+\n(.*?)```\n", text, re.DOTALL)
    return str(code)


def run(*words: str | Path, folder: Path | None = None) -> str:
    """A command's output; fails the test with it if the command does."""
    words = tuple(map(str, words))
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def compile_in(folder: Path, words: Sequence[str | Path], file: Path, made: Path) -> None:
    """Compiles a file through the cache of compilers, whose entries are for any folder."""
    place = file.relative_to(folder) if file.is_relative_to(folder) else file
    run("ccache", *words, "-c", place, "-o", made, folder=folder)


def firmware(
    folder: Path,
    packages: Sequence[Path],
    main: str,
    board_name: str,
    toolchain: str = "gcc",
    *,
    handlers: Mapping[int, str] = TICK,
    before: str = "",
    after: str = "",
) -> Path:
    """An image of a program of SOURCES with packages.

    Args:
        handlers: functions of the program, by the number of the exception that they handle.
        before, after: lines for CMake before the packages and after the image.
    """
    board = find_board(board_name)
    made_by = builder(toolchain, Target.parse(board.cpu))
    root = folder / "runtime"
    for name in ("cortexm", "include", "libc"):
        shutil.copytree(paths.runtime() / name, root / name)
    startup = root / "cortexm" / "startup.S"
    text, last = startup.read_text(), 1  # after the stack's top and reset
    assert _FAULTS in text
    vectors = ""
    for number, handler in sorted(handlers.items()):
        vectors += _OWN.format(number - last - 1, handler)
        last = number
    startup.write_text(text.replace(_FAULTS, vectors + _REST.format(last + 1)))
    shutil.copy(SOURCES / main, folder)
    places = [f'add_subdirectory("{package}" {package.name})' for package in packages]
    (folder / "CMakeLists.txt").write_text(
        _PROJECT.format(
            languages="C CXX" if main.endswith("cpp") else "C",
            runtime=paths.runtime(),
            before=before,
            after=after,
            warnings=";".join(WARNINGS),
            packages="\n".join(places),
            root=root,
            main=Path(main).name,
            names=" ".join(package.name for package in packages),
        )
    )
    script = link_script(board, folder, simulated_memory(board))
    words = [*("-G", "Ninja", "-S", folder, "-B", folder / "out")]
    words += [f"-DCMRT_BOARD={board.folder}", f"-DCMRT_LINK_SCRIPT={script}"]
    words += [f"-DCMRT_LIBRARY={library(made_by)}", *made_by.toolchain.cmake(made_by.target)]
    environment = made_by.toolchain.environment
    for argv in ([tools.find("cmake"), *words], [tools.find("ninja"), "-C", folder / "out"]):
        log = folder / "log"
        made_by.processes.run(argv, log=log, timeout=600, env=environment, check=False)
        text = log.read_text()
        assert "FAILED" not in text and "CMake Error" not in text, text
    return folder / "out/firmware.elf"


def on_this_computer(folder: Path, package: Path, main: str | Path, *flags: str) -> str:
    """What a program of SOURCES, or another file, prints with a package, under sanitizers."""
    source = SOURCES / main
    compile_ = [*flags, "-I.", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    objects = []
    for file in (*package.glob("*.[cS]"), *package.glob("runtime/*.c"), source):
        compiler = "g++" if file.suffix == ".cpp" else "gcc"
        standard = {".c": ["-std=c11"], ".cpp": ["-std=c++17"]}.get(file.suffix, [])
        objects.append(folder / f"{file.name}.o")
        compile_in(package, [compiler, *WARNINGS, *standard, *compile_], file, objects[-1])
    run("g++", *compile_, *objects, "-lm", "-o", folder / "program")
    return run(folder / "program")


def foreign_symbols(archive: Path, name: str) -> list[str]:
    """Global symbols that an archive defines and that do not begin with the model's name."""
    listed = run("arm-none-eabi-nm", "-g", "--defined-only", "--format=posix", archive)
    symbols = [line.split()[0] for line in listed.splitlines() if len(line.split()) > 2]
    assert symbols
    return [symbol for symbol in symbols if not symbol.startswith(f"{name}_")]


def simulate(image: Path, board_name: str) -> str:
    """What an image prints; it ends by itself."""
    qemu = next(each for each in launchers_of(find_board(board_name)) if each.name == "qemu")
    return run(*qemu.command(qemu.find(), image, image.parent, 60))
