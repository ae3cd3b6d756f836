"""Requests as flat options: one list for the command line, for doit's variables and for code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

R = TypeVar("R")

_META = "option"


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a user names and writes the value of a field.

    Attributes:
        name: of the option and the variable; the field's if empty.
        flags: other spellings on the command line: `-n`.
        metavar: placeholder for the value in the help.
        choices: all values, if they are few.
        least: of a number.
        words: values beside numbers: `all`.
        is_output: a folder that is created if missing.
        shown: the default as shown in the help, or whether to show it.
    """

    help: str
    name: str = ""
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    choices: Sequence[str] = ()
    least: int | None = None
    words: tuple[str, ...] = ()
    is_output: bool = False
    shown: str | bool = False

    def allows(self, value: Any) -> bool:
        """Whether a value of the field's type is valid."""
        if self.choices:
            return value in self.choices
        if value in self.words:
            return True
        if isinstance(value, float):  # a time
            return value > 0
        return self.least is None or value >= self.least


@dataclass(frozen=True, slots=True)
class Option:
    """A field of a request, or of what it is composed of.

    Attributes:
        field: its name.
        kind: type of a value; of each value if there are several.
        default: a value, or a function that returns it.
        spelling: None for a field that is not an option.
    """

    field: str
    kind: type
    default: Any
    is_multiple: bool = False
    spelling: Spelling | None = None

    @property
    def name(self) -> str:
        return (self.spelling and self.spelling.name) or self.field


def option(help: str, default: Any = None, **spelling: Any) -> Any:
    """A field that users can set.

    Args:
        default: a value, or a function that returns it.
        spelling: see Spelling.
    """
    metadata = {_META: Spelling(help, **spelling)}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def options(request: type) -> Iterator[Option]:
    """The fields of a request, with those of what it is composed of in their place."""
    hints = get_type_hints(request)
    for each in fields(request):
        kind = hints[each.name]
        if is_dataclass(kind):
            yield from options(kind)  # type: ignore[arg-type]
            continue
        default: Callable[[], object] | object = each.default
        if each.default_factory is not MISSING:
            default = each.default_factory
        yield Option(
            each.name,
            next(part for part in (*get_args(kind), kind) if part is not NoneType),
            None if default is MISSING else default,
            is_multiple=Ellipsis in get_args(kind),
            spelling=each.metadata.get(_META),
        )


def compose(request: type[R], **chosen: Any) -> R:
    """A request, and the requests that it is composed of, from options by field name.

    Raises:
        UsageError: a value that the request rejects.
    """
    unknown = chosen.keys() - {each.field for each in options(request)}
    if unknown:
        raise TypeError(f"{request.__name__} has no {', '.join(sorted(unknown))}")
    return _compose(request, chosen)


def _compose(request: type[R], chosen: dict[str, Any]) -> R:
    hints, values = get_type_hints(request), {}
    for each in fields(request):  # type: ignore[arg-type]
        kind = hints[each.name]
        if is_dataclass(kind):
            values[each.name] = _compose(kind, chosen)  # type: ignore[arg-type]
        elif each.name in chosen:
            values[each.name] = chosen[each.name]
    return request(**values)
