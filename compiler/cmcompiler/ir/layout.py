"""Argument structs of kernels: fields with C types, which become the words of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import (
    Annotated,
    Any,
    ClassVar,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from cmcompiler.ir.words import Byte, Short, Word, Words

S = TypeVar("S", bound="Struct")


@dataclass(frozen=True, slots=True)
class CType:
    """The type of a field in C.

    Attributes:
        name: as C spells it.
        narrow: the class of its words, for a field of fewer than 32 bits.
    """

    name: str
    narrow: type[Short] | type[Byte] | None = None


Int32 = Annotated[int, CType("int32_t")]
Int16 = Annotated[int, CType("int16_t", Short)]
Int8 = Annotated[int, CType("int8_t", Byte)]
UInt32 = Annotated[int, CType("uint32_t")]
Float32 = Annotated[float, CType("uint32_t")]
"""The bits of a float: words of 32 bits are integers in C."""

Place = Annotated[Word, CType("cm_ref")]
"""An address in the arena or in the constants."""

Settled = Annotated[Word, CType("int32_t")]
"""A number that planning may settle: the rows of a ring, or what scratch holds."""

SettledSize = Annotated[Word, CType("uint32_t")]
"""Bytes that planning may settle: of the rows that a call computes at once."""

INLINE = object()
"""Beside the type of a struct: its fields are fields of the outer struct."""


class Field(NamedTuple):
    """One field of a struct.

    Attributes:
        prefix: precedes the names of the fields inside it, if it is a struct.
        note: a comment for C; empty for none.
    """

    name: str
    type: CType | type[Struct]
    prefix: str
    note: str


class Struct:
    """A struct of C; subclasses are frozen dataclasses.

    A field is a word or another struct. Fields of other types are the host's alone. A string beside
    the type, as in `Annotated[Int32, "bytes of a row"]`, is the field's comment in C, and the
    first paragraph of the docstring is that of the struct.
    """

    c_name: ClassVar[str]
    """Not set for fields that are always INLINE in other structs."""

    def words(self, prefix: str = "") -> Words:
        """The fields in order; those of an inner struct are called `outer.inner`."""
        words: Words = []
        for name, kind, inner, _ in layout(type(self)):
            value = getattr(self, name)
            if not isinstance(kind, CType):
                words += value.words(prefix + inner)
            elif kind.narrow is not None:
                words.append((prefix + name, kind.narrow(value)))
            else:
                words.append((prefix + name, value))
        return words

    @classmethod
    def of_words(cls: type[S], words: Iterable[tuple[str, Any]]) -> S:
        """The struct that words of these names fill: the inverse of words()."""
        return cls._filled(dict(words), "")

    @classmethod
    def _filled(cls: type[S], words: Mapping[str, Any], prefix: str) -> S:
        values = {}
        for name, kind, inner, _ in layout(cls):
            if isinstance(kind, CType):
                values[name] = words[prefix + name]
            else:
                values[name] = kind._filled(words, prefix + inner)
        return cls(**values)


def layout(struct: type[Struct]) -> tuple[Field, ...]:
    """The fields of a struct that C has, in order."""
    kept: Any = struct  # type checkers take classes of dataclasses as not hashable
    return _layout(kept)


@cache
def _layout(struct: Any) -> tuple[Field, ...]:
    hints = get_type_hints(struct, include_extras=True)
    every = (_field(each.name, hints[each.name]) for each in fields(struct))
    return tuple(field for field in every if field is not None)


def _field(name: str, hint: Any) -> Field | None:
    """None for a field of the host's alone."""
    parts = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    note = next((part for part in parts if isinstance(part, str)), "")
    for part in parts:
        if isinstance(part, CType) or (isinstance(part, type) and issubclass(part, Struct)):
            return Field(name, part, "" if INLINE in parts else f"{name}.", note)
    return None
