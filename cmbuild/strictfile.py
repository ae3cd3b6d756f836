"""Users' TOML, mostly with a fixed set of keys: a mistake is a line with file, line and key."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic.fields import FieldInfo

from cmbuild.errors import UsageError
from cmbuild.text import cut, shortened
from cmcompiler.suggest import did_you_mean

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_MOST_BYTES = 16 << 20
_MOST_DEPTH = 64
_MARK = "\ufeff"
_INTEGERS = range(-(1 << 63), 1 << 63)  # https://toml.io/en/v1.0.0#integer
_QUOTED = re.compile(r"""\"[^"\n]*\"|'[^'\n]*'""")
_DOTTED = re.compile(r"(?<![\w.-])(?:[\w-]+\.){100}")
_DIGITS = re.compile(r"[0-9_]{1000,}")  # far fewer than Python converts to a number


class BrokenFile(UsageError):
    template = "{path}{line}: {key}{problem}"


class Table(BaseModel):
    """A table of such a file: takes the keys that it names, and values of just their types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


C = TypeVar("C", bound="Choices")


class Choices(Table):
    """Tables by name, of which a file has some; it remembers their order in the file."""

    _order: tuple[str, ...] = PrivateAttr(())

    @classmethod
    def of(cls: type[C], tables: Mapping[str, type[Table]]) -> type[C]:
        """The table whose keys are these names."""
        fields: dict[str, Any] = {name: (table | None, None) for name, table in tables.items()}
        return create_model(cls.__name__, __base__=cls, **fields)

    @model_validator(mode="wrap")
    @classmethod
    def _remember(cls: type[C], document: Any, handler: ModelWrapValidatorHandler[C]) -> C:
        made = handler(document)
        made._order = tuple(document)
        return made

    @property
    def chosen(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._order}


class Inconsistent(Exception):
    """Keys that are well-formed, but make no sense: raised by whoever reads them."""

    def __init__(self, key: tuple[str, ...], problem: str, hint: str | None = None) -> None:
        super().__init__(problem)
        self.key, self.problem, self.hint = key, problem, hint


def read_text(path: Path) -> str:
    """
    Raises:
        BrokenFile: not found, unreadable, or not text in UTF-8.
    """
    try:
        if path.exists() and not path.is_file():
            raise _unusable(path, "is not a file")
        if path.stat().st_size > _MOST_BYTES:
            raise _unusable(path, f"is larger than {_MOST_BYTES >> 20} MiB")
        text = path.read_text("utf-8")
    except FileNotFoundError as error:
        raise _unusable(path, "not found") from error
    except OSError as error:
        raise _unusable(path, f"unreadable: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise _unusable(path, f"unreadable: {error}") from error
    if text.startswith(_MARK):
        problem = "starts with a byte order mark; save it as UTF-8 without one"
        raise _unusable(path, problem, line=1)
    return text


def read_document(path: Path) -> tuple[str, dict[str, Any]]:
    """The text of a file, and its tables.

    Raises:
        BrokenFile: as read_text, or it is not TOML, or has numbers or depths that none needs.
    """
    text = read_text(path)
    if match := _DIGITS.search(text):
        line = text.count("\n", 0, match.start()) + 1
        raise _unusable(path, "a number has too many digits", line=line)
    # Reading a key of many parts takes memory by their square.
    for number, row in enumerate(text.split("\n"), 1):
        if row.count(".") >= 100 and _DOTTED.search("".join(_QUOTED.sub("_", row).split())):
            raise _unusable(path, "is nested too deeply", line=number)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(path, error) from error
    except RecursionError as error:
        raise _unusable(path, "is nested too deeply") from error
    _check_values(path, document)
    return text, document


T = TypeVar("T", bound=Table)
R = TypeVar("R")


def read(path: Path, kind: type[T], build: Callable[[T], R], inside: tuple[str, ...] = ()) -> R:
    """The result of `build` for a file; `build` may raise Inconsistent.

    Args:
        inside: the table of the file to read, if not all of it: `("tool", "cmbuild")`.

    Raises:
        BrokenFile: naming file, line and key.
    """
    text, whole = read_document(path)
    document: object = whole
    for name in inside:
        document = document.get(name, {}) if isinstance(document, dict) else {}
    try:
        return build(kind.model_validate(document))
    except ValidationError as error:
        # A misspelt key is also a missing one: say the former.
        first = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
        raise _broken(path, text, (*inside, *first["loc"]), *_explain(first, kind)) from error
    except Inconsistent as error:
        raise _broken(path, text, (*inside, *error.key), error.problem, error.hint) from error


def broken(path: Path, key: Sequence[str], problem: str, hint: str | None = None) -> BrokenFile:
    """The error for a key of a file that was read before, found wrong only now."""
    try:
        text = read_text(path)
    except BrokenFile:
        text = ""
    return _broken(path, text, key, problem, hint)


def _explain(error: Any, kind: type[Table]) -> tuple[str, str | None]:
    """An explanation of pydantic's error in our words, and a hint."""
    what, context = error["type"], error.get("ctx", {})
    if what == "missing":
        return "missing", None
    if what == "extra_forbidden":
        *parents, key = map(str, error["loc"])
        table = _table(kind, parents)
        return "unknown key", did_you_mean(key, _fields(table)) if table else None
    if what in ("model_type", "dict_type"):
        return f"expected a table, not {shortened(error['input'])}", None
    if what == "value_error":
        return str(context["error"]), None
    return f"{error['msg'][0].lower()}{error['msg'][1:]}, not {shortened(error['input'])}", None


def _fields(kind: type[Table]) -> dict[str, FieldInfo]:
    """By their names in the file."""
    return {field.alias or name: field for name, field in kind.model_fields.items()}


def _table(kind: type[Table], location: Sequence[str]) -> type[Table] | None:
    """The table at a location; one of several with free names has the name in its location."""
    if not location:
        return kind
    field = _fields(kind).get(location[0])
    if field is None:
        return None
    candidates = [field.annotation, *get_args(field.annotation)]
    plain = [each for each in candidates if isinstance(each, type) and get_origin(each) is None]
    tables = [each for each in plain if issubclass(each, Table)]
    is_named = get_origin(field.annotation) is None or type(None) in candidates
    return _table(tables[0], location[1 if is_named else 2 :]) if tables else None


def _broken(
    path: Path, text: str, key: Sequence[int | str], problem: str, hint: str | None
) -> BrokenFile:
    names = [part for part in key if isinstance(part, str)]
    line = _line(text, names)
    return BrokenFile(
        path=path,
        line="" if line is None else f":{line}",
        key=f"{cut('.'.join(names))}: " if names else "",
        problem=cut(problem),
        hint=hint,
    )


def _line(text: str, key: Sequence[str]) -> int | None:
    """The line of a key, or of the innermost table around it that has one, or of the first table
    inside one that has none.
    """
    table: list[str] = []
    innermost: tuple[int, int] | None = None
    inside: int | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"\s*\[\s*([^\]]+?)\s*\]", line):
            table = [part.strip().strip("\"'") for part in match[1].split(".")]
            here = table
        elif match := re.match(r"\s*([A-Za-z0-9_.\-\"']+)\s*=", line):
            here = [*table, *(part.strip("\"'") for part in match[1].split("."))]
        else:
            continue
        if here == list(key[: len(here)]) and (innermost is None or len(here) > innermost[0]):
            innermost = (len(here), number)
        if inside is None and len(key) > 1 and here[: len(key) - 1] == list(key[:-1]):
            inside = number
    return inside if innermost is None else innermost[1]


def _check_values(path: Path, document: dict[str, Any]) -> None:
    """Raises BrokenFile for tables that are nested too deeply, and for numbers that no other reader
    of TOML takes.
    """
    ahead: list[tuple[tuple[str, ...], object]] = [((), document)]
    while ahead:
        key, value = ahead.pop()
        if len(key) > _MOST_DEPTH:
            raise _unusable(path, "is nested too deeply")
        if isinstance(value, int) and value not in _INTEGERS:
            raise _unusable(path, f"{'.'.join(key)}: the number has more than 64 bits")
        if isinstance(value, (dict, list)):
            for name, item in value.items() if isinstance(value, dict) else enumerate(value):
                ahead.append(((*key, str(name)), item))


def _unusable(path: Path, problem: str, line: int | None = None) -> BrokenFile:
    return BrokenFile(
        path=path, line="" if line is None else f":{line}", key="", problem=cut(problem)
    )


def _syntax_error(path: Path, error: tomllib.TOMLDecodeError) -> BrokenFile:
    match = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", str(error), re.DOTALL)
    problem, line = (match[1], int(match[2])) if match else (str(error), None)
    return _unusable(path, problem, line)
