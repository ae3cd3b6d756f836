"""`name=value` words on doit's command line, as requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from cmbuild.errors import UnknownName, UsageError
from cmbuild.paths import default_build
from cmbuild.pipeline.defaults import Subject, find_subject
from cmbuild.pipeline.request import EXECUTORS, IO, PLACES, RunRequest


def _one_of(known: Sequence[str]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in known:
            raise ValueError
        return text

    return parse


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _boolean(text: str) -> bool:
    return text not in _NO


def _seconds(text: str) -> float:
    number = float(text)
    if not number > 0:
        raise ValueError
    return number


_NO = ("0", "", "no", "false")

_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "isa": str,
    "toolchain": str,
    "seed": int,
    "weights": Path,
    "calibration": Path,
    "method": str,
    "io": _one_of(IO),
    "executor": _one_of(EXECUTORS),
    "executorch_root": Path,
    "build_dir": Path,
    "samples": _positive,
    "input": lambda text: tuple(map(Path, text.split(","))),
    "output_dir": Path,
    "launcher": str,
    "timeout": _seconds,
    "flash_method": str,
    "volume": Path,
    "probe": str,
    "dry_run": _boolean,
    "reset": _boolean,
    "port": str,
    "on": _one_of(PLACES),
}
"""Variables with the same meaning as the options of `cmbuild run` and `cmbuild flash`, whose
`--method` is flash_method here; several inputs with commas.
"""

_FIELDS = {"input": "inputs"}
NAMES = ("model", "board", *_PARSERS, "json", "verbose")


def subject(variables: Mapping[str, str]) -> Subject:
    """Models and boards, separated by commas; see find_subject for what is not named."""
    _check_names(variables)
    build_dir = Path(variables["build_dir"]) if "build_dir" in variables else default_build()
    return find_subject(variables.get("model"), variables.get("board"), build_dir)


def requests(variables: Mapping[str, str], subject: Subject) -> list[RunRequest]:
    """One request for each pair of the models and boards.

    Raises:
        UnknownName: a variable that there is not.
        UsageError: a value that is not valid.
    """
    _check_names(variables)
    options = {
        _FIELDS.get(name, name): _parse(name, text)
        for name, text in variables.items()
        if name in _PARSERS
    }
    models, boards = subject.model.split(","), subject.board.split(",")
    pairs = dict.fromkeys(product(models, boards))
    return [RunRequest(model=model, board=board, **options) for model, board in pairs]


def _check_names(variables: Mapping[str, str]) -> None:
    for name in variables:
        if name not in NAMES:
            raise UnknownName(kind="variable", name=name, known=NAMES)


def flag(variables: Mapping[str, str], name: str) -> bool:
    """`json=1`, `verbose=1`."""
    return _boolean(variables.get(name, "0"))


def _parse(name: str, text: str) -> Any:
    try:
        return _PARSERS[name](text)
    except ValueError as error:
        raise UsageError(message=f"{name}={text} is not valid") from error
