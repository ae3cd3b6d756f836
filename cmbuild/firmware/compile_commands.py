"""compile_commands.json: how each C file of an image is compiled, for editors and their servers."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cmbuild import paths
from cmbuild.boards.board import Board
from cmbuild.errors import MissingTool
from cmbuild.toolchain.toolchains import TOOLCHAINS, cpu_flags
from cmbuild.toolchain.tools import find_tool
from cmcompiler.emit.files import ASSEMBLY, C_FILE
from cmcompiler.isa import Isa
from cmcompiler.target import Target

FILE = "compile_commands.json"

_START = ("cortexm/*.c", "cortexm/*.S")
"""Files of the runtime that each image for a board has."""


@dataclass(frozen=True, slots=True)
class Command:
    """
    Attributes:
        folder: where the compiler works.
        words: compiler and arguments, the file among them.
    """

    file: Path
    folder: Path
    words: tuple[str, ...]

    def of(self, file: Path) -> Command:
        """A command for another file of the same language, whose object file is thrown away."""
        words = [str(file) if word == str(self.file) else word for word in self.words]
        if "-o" in words:
            words[words.index("-o") + 1] = os.devnull
        return Command(file, self.folder, tuple(words))


def exported(folder: Path, place: Path, isa: Isa) -> str:
    """The commands that CMake exported for an image, and those of the kernels, built elsewhere.

    Args:
        folder: where CMake worked.
        place: where that folder will be.
    """
    listed = json.loads((folder / FILE).read_text(encoding="utf-8"))
    old, new = str(folder.absolute()), str(place.absolute())
    commands = [
        Command(
            Path(each["file"]),
            Path(each["directory"].replace(old, new)),
            tuple(word.replace(old, new) for word in shlex.split(each["command"])),
        )
        for each in listed
    ]
    like = next(each for each in commands if each.file.suffix == ".c")
    return written([*commands, *map(like.of, kernels(isa))])


def expected(board: Board, toolchain: str, model: Path, folder: Path) -> str | None:
    """How an image's files will be compiled, before anything is built.

    Args:
        model: folder of the emitted model, which need not be there yet.
        folder: where the compiler would work.

    Returns:
        None if this machine lacks what knows the options of the core.
    """
    kind = TOOLCHAINS[toolchain]
    compiler = find_tool(kind.compiler)
    flags: Sequence[str] = ()
    if not kind.is_host:
        try:
            flags = cpu_flags(toolchain, Target(board.cpu, board.isas[0], board.fpu))
        except MissingTool:
            return None
    runtime = paths.runtime()
    program = [str(compiler or kind.compiler.name), *kind.command]
    own = board.folder.absolute()
    places = (runtime / "include", own, model.absolute())
    includes = [f"-I{place}" for place in places]
    # Compilers that come without a C library have the runtime's headers.
    is_bare = not kind.is_default and not kind.is_host
    system = ["-isystem", str(runtime / "libc" / "include")] if is_bare else []
    first = model.absolute() / C_FILE
    words = (*program, *flags, "-std=c11", "-Os", "-g", *includes, *system)
    like = Command(first, folder.absolute(), (*words, "-o", os.devnull, "-c", str(first)))
    start = [] if kind.is_host else [file for each in _START for file in runtime.glob(each)]
    of_board = [file for suffix in ("*.c", "*.S") for file in own.glob(suffix)]
    files = [first.with_name(ASSEMBLY), runtime / "runner" / "static_executor.c"]
    return written(
        [
            like,
            *map(like.of, [*files, *sorted(of_board), *sorted(start)]),
            *map(like.of, kernels(board.isas[0])),
        ]
    )


def merged(file: Path, text: str) -> str | None:
    """The commands of a file and of a text, which wins; None if the file has something else."""
    try:
        before = json.loads(file.read_text(encoding="utf-8"))
        known = {each["file"]: each for each in before}
    except FileNotFoundError:
        return text
    except (OSError, ValueError, TypeError, KeyError):
        return None
    known |= {each["file"]: each for each in json.loads(text)}
    return _json(list(known.values()))


def kernels(isa: Isa) -> Iterator[Path]:
    """The runtime's kernels, and one version of each microkernel."""
    runtime = paths.runtime()
    yield from sorted((runtime / "kernels").glob("*.c"))
    chosen: dict[str, Path] = {}
    for each in Isa:
        if each <= isa:
            chosen |= {file.name: file for file in (runtime / "isa" / each.label).glob("*.c")}
    yield from (chosen[name] for name in sorted(chosen))


def written(commands: Sequence[Command]) -> str:
    return _json(
        [
            {
                "directory": str(each.folder),
                "file": str(each.file),
                "arguments": list(each.words),
            }
            for each in commands
        ]
    )


def _json(commands: Sequence[Mapping[str, object]]) -> str:
    return json.dumps(commands, indent=1, ensure_ascii=False) + "\n"
