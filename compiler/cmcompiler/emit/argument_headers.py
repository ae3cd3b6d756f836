"""The argument structs of kernels in C: runtime/include/cmrt/args, made from their declarations."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from importlib import import_module
from inspect import getdoc

from cmcompiler.ir.layout import CType, Struct, layout

_WIDTH = 104
"""Columns of a comment's line."""


def argument_headers() -> dict[str, str]:
    """The text of each header by its name, `conv2d.h` for struct cm_conv2d."""
    import_module("cmcompiler.ops")
    return {_file(struct): _header(struct) for struct in sorted(_declared(), key=_file)}


def _declared(base: type[Struct] = Struct) -> Iterator[type[Struct]]:
    """The structs below `base` that C has."""
    for struct in base.__subclasses__():
        is_own = struct.__module__.startswith("cmcompiler.")
        if is_own and "c_name" in vars(struct):
            yield struct
        yield from _declared(struct)


def _file(struct: type[Struct]) -> str:
    return f"{struct.c_name.removeprefix('cm_')}.h"


def _header(struct: type[Struct]) -> str:
    macro = f"CMRT_ARGS_{struct.c_name.removeprefix('cm_').upper()}_H"
    inner = {f"args/{_file(kind)}" for kind in _inner(struct)}
    has_places = "cm_ref" in "".join(_fields(struct))
    headers = sorted(inner | ({"program.h"} if has_places else set()))
    includes = "".join(f'#include "cmrt/{name}"\n' for name in headers)
    includes += "" if has_places else "\n" * bool(headers) + "#include <stdint.h>\n"
    note = " ".join((getdoc(struct) or "").partition("\n\n")[0].split())
    return (
        "/* Made from compiler/cmcompiler/ops by `./cmbuildw test tests/house --rewrite`. */\n"
        f"#ifndef {macro}\n#define {macro}\n\n{includes}\n{_comment(note)}"
        f"struct {struct.c_name} {{\n{''.join(_fields(struct))}}};\n\n#endif\n"
    )


def _inner(struct: type[Struct]) -> Iterator[type[Struct]]:
    """The structs that it has as fields, or a struct whose fields are its own has."""
    for _, kind, prefix, _ in layout(struct):
        if not isinstance(kind, CType):
            yield from (kind,) if prefix else _inner(kind)


def _fields(struct: type[Struct]) -> Iterator[str]:
    for name, kind, prefix, note in layout(struct):
        if not isinstance(kind, CType) and not prefix:
            yield from _fields(kind)
            continue
        yield _comment(note, "    ")
        c_type = kind.name if isinstance(kind, CType) else f"struct {kind.c_name}"
        yield f"    {c_type} {name};\n"


def _comment(text: str, indent: str = "") -> str:
    """Nothing for no text."""
    if not text:
        return ""
    lines = textwrap.wrap(text, _WIDTH - len(indent))
    return f"{indent}/* " + f"\n{indent}   ".join(lines) + " */\n"
