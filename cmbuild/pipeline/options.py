"""Requests as flat options: one list for the command line, for doit's variables and for code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from math import inf
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from cmbuild.errors import UsageError
from cmbuild.pipeline.values import Taken, value_of

R = TypeVar("R")

_META = "option"
INNER = {"inner": True}
"""Metadata of a field that no caller sets."""

_MOST = 1 << 31


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
            return 0 < value < inf
        return self.least is None or self.least <= value < _MOST


@dataclass(frozen=True, slots=True)
class Option:
    """A field of a request, or of what it is composed of.

    Attributes:
        field: its name.
        name: of the option and the variable.
        kind: type of a value; of each value if there are several.
        default: a value, or a function that returns it.
        is_optional: whether None is a value.
        spelling: None for a field that is not an option.
    """

    field: str
    name: str
    kind: type
    default: Any
    is_multiple: bool = False
    is_optional: bool = False
    spelling: Spelling | None = None


def option_value(option: Option, value: Any) -> Any:
    """A value as the field of an option holds it; raises UsageError for anything that it does not
    take.
    """
    if value is None and option.is_optional:
        return None
    spelling = option.spelling or Spelling("")
    if isinstance(value, str) and value in spelling.words:
        return value
    if spelling.choices:
        wanted = f"one of {', '.join(spelling.choices)}"
    elif option.kind is int and spelling.least is not None:
        wanted = f"a number from {spelling.least}"
    else:
        wanted = ""
    taken = Taken(option.name, option.kind, wanted, spelling.allows, spelling.is_output)
    if not option.is_multiple:
        return value_of(taken, value)
    several = value if isinstance(value, (list, tuple)) else (value,)
    return tuple(value_of(taken, each) for each in several)


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


@cache
def options(request: type) -> tuple[Option, ...]:
    """The fields of a request, with those of what it is composed of in their place."""
    hints = get_type_hints(request)
    known: list[Option] = []
    for each in fields(request):
        kind = hints[each.name]
        if each.metadata == INNER:
            continue
        if is_dataclass(kind):
            known += options(kind)  # type: ignore[arg-type]
            continue
        default: Callable[[], object] | object = each.default
        if each.default_factory is not MISSING:
            default = each.default_factory
        parts, spelling = get_args(kind), each.metadata.get(_META)
        known.append(
            Option(
                each.name,
                (spelling and spelling.name) or each.name,
                parts[0] if parts else kind,
                None if default is MISSING else default,
                is_multiple=Ellipsis in parts,
                is_optional=NoneType in parts,
                spelling=spelling,
            )
        )
    return tuple(known)


def compose(request: type[R], **chosen: Any) -> R:
    """A request, and the requests that it is composed of, from options.

    Args:
        chosen: see `checked`.

    Raises:
        TypeError, UsageError: see there; also a value that the request itself rejects.
    """
    return _compose(request, checked(request, chosen))


def checked(request: type, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a request by field, with values of the fields' types.

    Args:
        chosen: by name of the field or the option, values of these types or what stands for them:
            text for a path, one path for several.

    Raises:
        TypeError: an option that the request does not have.
        UsageError: a value that the option does not take.
    """
    known = {name: each for each in options(request) for name in (each.field, each.name)}
    unknown = chosen.keys() - known.keys()
    if unknown:
        raise TypeError(f"{request.__name__} has no {', '.join(sorted(unknown))}")
    values: dict[str, Any] = {}
    for name, value in chosen.items():
        each = known[name]
        if each.field in values:
            raise UsageError(message=f"{name} and {each.field} are the same option")
        # A required option has no default, for which None stands.
        is_default = value is each.default and (value is not None or each.is_optional)
        values[each.field] = value if is_default else option_value(each, value)
    return values


def _compose(request: type[R], chosen: dict[str, Any]) -> R:
    hints, values = get_type_hints(request), {}
    for each in fields(request):  # type: ignore[arg-type]
        kind = hints[each.name]
        if is_dataclass(kind):
            values[each.name] = _compose(kind, chosen)  # type: ignore[arg-type]
        elif each.name in chosen:
            values[each.name] = chosen[each.name]
    return request(**values)
