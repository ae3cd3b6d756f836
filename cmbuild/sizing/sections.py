"""What a linker would take of a library, from a table of the library's sections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from cmbuild.sizing.linking import Linked

CODE = Path(__file__).with_name("code.json")


class SectionKind(Enum):
    """What a section holds; the values are those of code.json."""

    CODE = "c"
    HOT = "h"
    """Microkernels, which a board may run from RAM."""
    VALUES = "v"
    """Variables with first values, which are loaded, too."""
    ZEROS = "z"


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LibraryCode(_Record):
    """The sections of a library.

    Attributes:
        functions: by name, the section of each function or table that other files may use.
        sections: kind, bytes, and the sections that one needs, by their places in this list.
    """

    functions: Mapping[str, int]
    sections: Sequence[tuple[SectionKind, int, tuple[int, ...]]]

    def has(self, kernels: Iterable[str]) -> bool:
        """Whether it has all of these, without `cm_`."""
        return all(f"cm_{kernel}" in self.functions for kernel in kernels)

    def linked(self, names: Iterable[str]) -> Linked:
        """As cmbuild.sizing.linking.link; the depth of the stack is not known."""
        ahead = [self.functions[name] for name in names if name in self.functions]
        taken: set[int] = set()
        while ahead:
            index = ahead.pop()
            if index not in taken:
                taken.add(index)
                ahead += self.sections[index][2]
        sizes = dict.fromkeys(SectionKind, 0)
        for index in taken:
            kind, size, _ = self.sections[index]
            sizes[kind] += size
        loaded = sizes[SectionKind.CODE] + sizes[SectionKind.HOT] + sizes[SectionKind.VALUES]
        variables = sizes[SectionKind.VALUES] + sizes[SectionKind.ZEROS]
        return Linked(loaded, variables, sizes[SectionKind.HOT], None)


class CodeTable(_Record):
    """code.json, which benchmarks/code_sizes.py makes.

    Attributes:
        libraries: by instruction set and core.
    """

    provenance: str
    libraries: Mapping[str, Mapping[str, LibraryCode]]

    def library(self, cpu: str, isa: str) -> LibraryCode | None:
        """That of the core, or of the first one with its instruction set."""
        cores = self.libraries.get(isa, {})
        return cores.get(cpu) or next(iter(cores.values()), None)


@cache
def known_code() -> CodeTable:
    return CodeTable.model_validate_json(CODE.read_bytes())
