"""The runtime's C files that a plan needs, found from what they define and call."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

from cmbuild import paths
from cmbuild.toolchain.kernel_sources import without_comments
from cmcompiler.isa import Isa

EXECUTOR = ("runner/program.c", "runner/state.c", "runner/step.c", "vectors/match.c")
"""Files that every package needs."""

TILER = "runner/tiles.c"
"""The file that plans with runs of steps need besides."""

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_NAME = re.compile(r"\bcm_\w+")
_DEFINITION = re.compile(r"^(?!static\b)[a-z][\w *]*?\b(cm_\w+)\([^;{}]*\)\s*\{", re.MULTILINE)
_DIRECTIVE = re.compile(r"^\s*#(?:.*\\\n)*.*$", re.MULTILINE)


def needed_sources(
    kernels: Collection[str],
    isa: Isa,
    folder: Path | None = None,
    texts: Iterable[str] = (),
    has_runs: bool = False,
) -> tuple[Path, ...]:
    """The C files to compile and the headers that they include, in a fixed order.

    A file belongs to them if it defines a kernel of the plan, or a function that one of them calls.

    Args:
        kernels: of the plan's calls, without the prefix `cm_`.
        isa: of the plan; of each microkernel, its best version is taken.
        folder: with kernels besides the runtime's own.
        texts: C files that include headers of the runtime, too.
        has_runs: the plan has runs of steps.
    """
    root = paths.runtime()
    providers = {
        name: file
        for file in (*_kernel_files(root, folder), *_microkernel_files(root, isa))
        for name in _defined(file)
    }
    files: dict[Path, None] = {}
    for name in (name for text in texts for name in _INCLUDE.findall(text)):
        if (header := root / "include" / name).exists():
            files.update(dict.fromkeys((header, *included(header))))
    due = [root / name for name in (*EXECUTOR, *([TILER] if has_runs else []))]
    due += [providers[f"cm_{kernel}"] for kernel in sorted(kernels)]
    while due:
        file = due.pop()
        if file in files:
            continue
        files[file] = None
        headers = list(included(file))
        files.update(dict.fromkeys(headers))
        called = sorted({name for part in (file, *headers) for name in _called(part)})
        due += [providers[name] for name in called if name in providers]
    return tuple(sorted(files))


def defined_functions(folder: Path) -> set[str]:
    """The functions with external linkage, `cm_…`, that the C files of a folder define."""
    return {name for file in sorted(folder.glob("*.c")) for name in _defined(file)}


def included(file: Path) -> Iterator[Path]:
    """The headers that a file includes, and those that they include."""
    seen: set[Path] = set()
    due = [file]
    while due:
        for name in _INCLUDE.findall(_text(due.pop())):
            header = find_header(name, file)
            if header not in seen:
                seen.add(header)
                due.append(header)
                yield header


def find_header(name: str, file: Path) -> Path:
    """The file that `#include "name"` in a file means."""
    beside = file.parent / name
    return beside if beside.exists() else paths.runtime() / "include" / name


def _kernel_files(root: Path, folder: Path | None) -> Iterator[Path]:
    for place in filter(None, (root / "kernels", folder)):
        yield from sorted(place.glob("*.c"))


def _microkernel_files(root: Path, highest: Isa) -> Iterable[Path]:
    best: dict[str, Path] = {}
    for isa in sorted(Isa):
        if isa <= highest:
            best |= {path.name: path for path in sorted((root / "isa" / isa.label).glob("*.c"))}
    return best.values()


@cache
def _defined(file: Path) -> tuple[str, ...]:
    return tuple(_DEFINITION.findall(without_comments(_text(file))))


@cache
def _called(file: Path) -> set[str]:
    """Names inside of functions and macros; declarations do not call what they declare."""
    text = without_comments(_text(file))
    inside, code = _DIRECTIVE.findall(text), _DIRECTIVE.sub("", text)
    depth = start = 0
    for brace in re.finditer("[{}]", code):
        depth += 1 if brace[0] == "{" else -1
        if depth == 1 and brace[0] == "{":
            start = brace.end()
        elif depth == 0:
            inside.append(code[start : brace.start()])
    return {name for part in inside for name in _NAME.findall(part)}


@cache
def _text(file: Path) -> str:
    return file.read_text("utf-8", errors="replace")
