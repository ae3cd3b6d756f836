"""The bytes that a linker takes of files for some functions: a link of nothing but those."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cmbuild.image import elf
from cmbuild.image.stack_depth import StackDepths, UnknownDepth
from cmbuild.process import Processes
from cmbuild.toolchain.toolchains import Toolchain, cpu_flags
from cmcompiler.target import Target

_SCRIPT = "SECTIONS { .hot : { *(.text.cm_isa_*) } .text : { *(.text .text.*) } }\n"
"""Divides code as runtime/cortexm/link.ld.j2 does."""

_OPTIONS = ("-m", "armelf", "--gc-sections", "--strip-debug", "--unresolved-symbols=ignore-all")


@dataclass(frozen=True, slots=True)
class Linked:
    """Bytes of what is linked.

    Attributes:
        code: instructions, tables, and the first values of variables.
        variables: RAM, those first values included.
        hot: of the code, microkernels, which a board may run from RAM.
        stack: at the deepest point of the functions; None if that is not known.
    """

    code: int
    variables: int
    hot: int
    stack: int | None


def link(
    files: Sequence[Path],
    names: Iterable[str],
    toolchain: Toolchain,
    target: Target,
    *,
    processes: Processes,
    log: Path,
) -> Linked:
    """
    Args:
        files: a library or objects.
        names: of functions; those that the files do not have count nothing.

    Raises:
        ProcessFailed: they are not for the target.
    """
    names = tuple(names)
    with tempfile.TemporaryDirectory(prefix="cmbuild-") as folder:
        script, image = Path(folder) / "link.ld", Path(folder) / "image.elf"
        script.write_text(_SCRIPT)
        options = [*_OPTIONS, "-e", "0", "-T", str(script), *(f"-u{name}" for name in names)]
        command = _command(toolchain, target, options, files)
        processes.run([*command, "-o", image], log=log, timeout=60, env=toolchain.environment)
        sections = elf.sections(image)
        stack = _depth(image, names)
    return Linked(
        stack=stack,
        code=sum(section.size for section in sections if section.is_loaded),
        variables=sum(section.size for section in sections if section.is_writable),
        hot=sum(section.size for section in sections if section.name == ".hot"),
    )


def _depth(image: Path, names: Iterable[str]) -> int | None:
    try:
        return StackDepths(image).of(names)
    except UnknownDepth:
        return None


def _command(
    toolchain: Toolchain, target: Target, options: list[str], files: Sequence[Path]
) -> list[str | Path]:
    kind = toolchain.kind
    if kind.calls_linker:
        return [toolchain.compiler, *kind.bare_link, *options, *files]
    core = cpu_flags(toolchain.name, target)
    passed = [word for option in options for word in ("-Xlinker", option)]
    return [toolchain.compiler, *core, *kind.bare_link, *passed, *files, *kind.libraries]
