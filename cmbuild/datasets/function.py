"""`python -m cmbuild.datasets.function FILE NAME FOLDER SIZE [LIMIT]` writes what it yields.

It runs users' code. Standard output has one JSON object: {"count": 250}, or
{"error": "data.py:3: …", "hint": …}. What that code prints goes to standard error.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from cmbuild.datasets.chunks import Array, Labelled, write_chunks
from cmbuild.errors import CmbuildError, UsageError
from cmcompiler.errors import CompilerError
from cmcompiler.usercode import blaming

_HINT = "yield pairs (input, label), with a tuple of inputs where the model takes several"


def labelled(file: Path, name: str) -> Iterator[Labelled]:
    """
    Raises:
        UsageError: the file does not define the name, or what it yields are not samples.
        InvalidRequest: an exception in the user's code, with file and line.
    """
    with blaming(file):
        module = _load(file)
    source = _named(module, file, name)
    with blaming(file):
        rows = iter(source() if callable(source) else source)
    place = f"{file}:{name}"
    while True:
        with blaming(file):
            try:
                row = next(rows)
            except StopIteration:
                return
        yield _sample(row, place)


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"_data_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    # Searched last: a module beside the file must not replace an installed one.
    sys.path.append(os.fspath(file.parent.resolve()))
    spec.loader.exec_module(module)
    return module


def _named(module: ModuleType, file: Path, name: str) -> Any:
    if not hasattr(module, name):
        own = [key for key, value in vars(module).items() if _is_own(value, module.__name__)]
        hint = f"it defines {', '.join(own)}" if own else "--data FILE.py:FUNCTION"
        raise UsageError(message=f"{file} does not define {name}", hint=hint)
    source = getattr(module, name)
    if not callable(source) and not isinstance(source, Iterable) and not hasattr(source, "__len__"):
        raise UsageError(message=f"{file}:{name} is not a function", hint=_HINT)
    return source


def _is_own(value: Any, module: str) -> bool:
    return callable(value) and getattr(value, "__module__", None) == module


def _sample(row: Any, place: str) -> Labelled:
    if not isinstance(row, tuple | list) or len(row) != 2:
        given = f"{len(row)} values" if isinstance(row, tuple | list) else type(row).__name__
        raise UsageError(message=f"{place} yields {given}, not an input and its label", hint=_HINT)
    inputs, label = row
    try:
        number = int(label)
    except (TypeError, ValueError):
        message = f"{place} yields the label {label!r}, which is not a number"
        raise UsageError(message=message, hint="the number of its class, or -1") from None
    several = inputs if isinstance(inputs, tuple) else (inputs,)
    arrays = tuple(_array(each) for each in several)
    if any(array.dtype.kind not in "biuf" for array in arrays):
        raise UsageError(message=f"{place} yields inputs that are not numbers", hint=_HINT)
    return arrays, number


def _array(given: Any) -> Array:
    """Numbers of Python become doubles in NumPy, which no model here takes."""
    array = np.asarray(given)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def main(arguments: list[str]) -> int:
    file, name, folder, size, *limit = arguments
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w") as answer:
        os.dup2(2, 1)
        most = int(limit[0]) if limit else None
        try:
            samples = labelled(Path(file), name)
            reply: dict[str, Any] = {"count": write_chunks(samples, Path(folder), int(size), most)}
        except (CmbuildError, CompilerError) as error:
            reply = {"error": error.message, "hint": error.hint}
        print(json.dumps(reply, ensure_ascii=False), file=answer, flush=True)
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)
