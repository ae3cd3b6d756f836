"""The bytes that a linker would take of a library, from a table of what each function adds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from cmbuild.sizing.linking import Linked

CODE = Path(__file__).with_name("code.json")


class SectionKind(Enum):
    """The content of a section; the values are those of code.json."""

    CODE = "c"
    HOT = "h"
    """Microkernels, which a board may run from RAM."""
    VALUES = "v"
    """Variables with first values, which are loaded, too."""
    ZEROS = "z"


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CodePart(_Record):
    """Sections of one kind that the same functions need: an image has all of them or none.

    Attributes:
        sizes: bytes on each core of the table.
        users: the functions with which they are linked.
    """

    kind: SectionKind
    sizes: Sequence[int]
    users: frozenset[str]


class CodeTable(_Record):
    """code.json, which benchmarks/code_sizes.py makes.

    Attributes:
        cores: the instruction set of each.
    """

    provenance: str
    cores: Mapping[str, str]
    parts: Sequence[CodePart]

    def core(self, cpu: str, isa: str) -> str | None:
        """This one, or else the first with its instruction set."""
        alike = [core for core, label in self.cores.items() if label == isa]
        return cpu if cpu in alike else next(iter(alike), None)

    def has(self, core: str, kernels: Iterable[str]) -> bool:
        """Whether it has all of these, without `cm_`, on a core of the table."""
        place = list(self.cores).index(core)
        known = frozenset[str]().union(*(part.users for part in self.parts if part.sizes[place]))
        return all(f"cm_{kernel}" in known for kernel in kernels)

    def linked(self, core: str, names: Iterable[str]) -> Linked:
        """As cmbuild.sizing.linking.link on a core of the table, without the depth of the stack."""
        place, wanted = list(self.cores).index(core), frozenset(names)
        sizes = dict.fromkeys(SectionKind, 0)
        for part in self.parts:
            if not wanted.isdisjoint(part.users):
                sizes[part.kind] += part.sizes[place]
        loaded = sizes[SectionKind.CODE] + sizes[SectionKind.HOT] + sizes[SectionKind.VALUES]
        variables = sizes[SectionKind.VALUES] + sizes[SectionKind.ZEROS]
        return Linked(loaded, variables, sizes[SectionKind.HOT], None)


@cache
def known_code() -> CodeTable:
    return CodeTable.model_validate_json(CODE.read_bytes())
