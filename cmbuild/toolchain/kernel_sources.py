"""Kernels as declared in their C files, to check the arguments of Python's calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cmbuild import paths
from cmbuild.errors import UsageError

if TYPE_CHECKING:
    from cmcompiler.plan.plan import Plan

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRUCT = re.compile(r"\bstruct (cm_\w+) \{([^{}]*)\};")
_KERNEL = re.compile(
    r"^void cm_([a-z0-9_]+)\(const struct cm_context \*\w*,([^)]*)\)", re.MULTILINE
)
_SHARED = ("rows.h", "narrowing.h", "recurrence.h")
_ARGUMENTS = re.compile(r'^#include "(cmrt/args/\w+\.h)"', re.MULTILINE)
_CALL = re.compile(r"\s*const struct cm_call \*\w*")
_FIELD = re.compile(r"(u?int32_t|int16_t|int8_t|cm_ref|struct (cm_\w+)) ([\w, ]+)")
_NARROW = {"int16_t": 16, "int8_t": 8}


class BrokenKernel(UsageError):
    template = "{file}:{line}: cm_{name} {problem}"


class WrongCall(UsageError):
    template = "{source}: {problem}"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel and its argument struct's fields: `outer.inner` for those of a struct in a struct,
    `name:16` for one of 16 bits.
    """

    name: str
    file: Path
    line: int
    fields: tuple[str, ...]


def read_kernels(*others: Path) -> dict[str, Kernel]:
    """The runtime's kernels, and those of other folders, by name.

    Raises:
        BrokenKernel: one that already exists, or whose struct is missing or has other fields
            than words of 32 bits.
    """
    kernels: dict[str, Kernel] = {}
    for folder in (paths.runtime() / "kernels", *others):
        for file in sorted(folder.glob("*.c")):
            for kernel in _kernels(file):
                if first := kernels.get(kernel.name):
                    problem = f"is defined in {first.file}, too"
                    raise _broken(kernel.name, kernel.file, kernel.line, problem)
                kernels[kernel.name] = kernel
    return kernels


def check_calls(plan: Plan, kernels: Mapping[str, Kernel]) -> None:
    """
    Raises:
        WrongCall: a step calls an undefined kernel, or passes other fields than it takes.
    """
    for step in plan.steps:
        if not step.is_call:
            continue
        kernel = kernels.get(step.kernel)
        if kernel is None:
            raise WrongCall(
                source=step.source,
                problem=f"no C file defines the kernel cm_{step.kernel}",
                hint=f"void cm_{step.kernel}(const struct cm_context *, const struct cm_call *): "
                "docs/adding-an-op.md",
            )
        given = tuple(_field(argument.name, argument.bits) for argument in step.arguments)
        if given != kernel.fields:
            raise WrongCall(
                source=step.source,
                problem=f"{', '.join(given)} are not the fields of cm_{step.kernel}, "
                f"{', '.join(kernel.fields)}",
                hint=f"kernel_calls() gives those of {kernel.file}:{kernel.line}, in their order",
            )


def _kernels(file: Path) -> Iterator[Kernel]:
    text = file.read_text(errors="replace")
    structs: dict[str, str] | None = None
    for match in _KERNEL.finditer(text):
        # Only files with kernels are searched for structs, and only once.
        structs = structs or _shared(text) | _structs(text)
        name, line = match[1], text.count("\n", 0, match.start()) + 1
        if not _CALL.fullmatch(match[2]):
            problem = (
                "takes other parameters than const struct cm_context *, const struct cm_call *"
            )
            raise _broken(name, file, line, problem)
        # Kernels may share a struct: cm_linear_vector takes struct cm_linear.
        named = [struct for struct in structs if f"cm_{name}_".startswith(f"{struct}_")]
        if not named:
            raise _broken(name, file, line, f"has no struct cm_{name} for its arguments")
        try:
            fields = tuple(_fields(max(named, key=len), structs))
        except ValueError as error:
            raise _broken(name, file, line, str(error)) from error
        yield Kernel(name, file, line, fields)


def _shared(text: str) -> dict[str, str]:
    """Structs that are part of others, and those of arguments that a C file includes."""
    shared = "".join(f'#include "cmrt/args/{name}"\n' for name in _SHARED)
    return _included(shared + text, paths.runtime() / "include")


def _included(text: str, headers: Path) -> dict[str, str]:
    """The structs of the argument headers that a C file includes, and those in them."""
    structs: dict[str, str] = {}
    for name in _ARGUMENTS.findall(text):
        if (header := headers / name).exists():
            own = header.read_text()
            structs |= _included(own, headers) | _structs(own)
    return structs


def without_comments(text: str) -> str:
    return _COMMENT.sub("", text)


def _structs(text: str) -> dict[str, str]:
    return dict(_STRUCT.findall(without_comments(text)))


def _field(name: str, bits: int) -> str:
    return name if bits == 32 else f"{name}:{bits}"


def _fields(name: str, structs: Mapping[str, str]) -> Iterator[str]:
    filled = 0
    for declaration in filter(None, map(str.strip, structs[name].split(";"))):
        match = _FIELD.fullmatch(re.sub(r"\s+", " ", declaration))
        if match is None or match[2] not in (None, *structs):
            raise ValueError(f"takes struct {name}, but {declaration!r} declares no 32-bit fields")
        bits = _NARROW.get(match[1], 32)
        for field in map(str.strip, match[3].split(",")):
            if filled % bits:
                raise ValueError(f"takes struct {name}, whose fields before {field} fill no words")
            filled = (filled + bits) % 32
            inner = _fields(match[2], structs) if match[2] else ()
            yield from [f"{field}.{part}" for part in inner] or [_field(field, bits)]
    if filled:
        raise ValueError(f"takes struct {name}, whose last fields fill no word")


def _broken(name: str, file: Path, line: int, problem: str) -> BrokenKernel:
    return BrokenKernel(name=name, file=file, line=line, problem=problem)
