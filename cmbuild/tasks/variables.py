"""`name=value` words on doit's command line, as requests."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from cmbuild.errors import UnknownName, UsageError
from cmbuild.paths import default_build
from cmbuild.pipeline.defaults import Subject, find_subject
from cmbuild.pipeline.options import Option, compose, options
from cmbuild.pipeline.request import RunRequest

_NO = ("0", "", "no", "false")

_OPTIONS = {each.name: each for each in options(RunRequest) if each.spelling is not None}
"""The options of `cmbuild run` and `cmbuild flash`; several inputs with commas."""

NAMES = tuple(dict.fromkeys(("model", "board", *_OPTIONS, "json", "verbose")))


def subject(variables: Mapping[str, str]) -> Subject:
    """Models and boards, separated by commas; see find_subject for defaults."""
    _check_names(variables)
    build_dir = Path(variables["build_dir"]) if "build_dir" in variables else default_build()
    return find_subject(variables.get("model"), variables.get("board"), build_dir)


def requests(variables: Mapping[str, str], subject: Subject) -> list[RunRequest]:
    """One request for each pair of the models and boards.

    Raises:
        UnknownName: an unknown variable.
        UsageError: an invalid value.
    """
    _check_names(variables)
    chosen = {
        _OPTIONS[name].field: _parse(_OPTIONS[name], text)
        for name, text in variables.items()
        if name in _OPTIONS
    }
    pairs = dict.fromkeys(product(subject.model.split(","), subject.board.split(",")))
    return [
        compose(RunRequest, **chosen | {"model": model, "board": board}) for model, board in pairs
    ]


def _check_names(variables: Mapping[str, str]) -> None:
    for name in variables:
        if name not in NAMES:
            raise UnknownName(kind="variable", name=name, known=NAMES)


def flag(variables: Mapping[str, str], name: str) -> bool:
    """`json=1`, `verbose=1`."""
    return _boolean(variables.get(name, "0"))


def _parse(option: Option, text: str) -> Any:
    try:
        return _value(option, text)
    except ValueError as error:
        raise UsageError(message=f"{option.name}={text} is not valid") from error


def _value(option: Option, text: str) -> Any:
    if option.kind is bool:
        return _boolean(text)
    if option.is_multiple:
        return tuple(map(option.kind, text.split(",")))
    spelling = option.spelling
    if spelling is not None and text in spelling.words:
        return text
    value = option.kind(text)
    if spelling is not None and not spelling.allows(value):
        raise ValueError
    return value


def _boolean(text: str) -> bool:
    return text not in _NO
