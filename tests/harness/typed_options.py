"""The options of Python's functions as types, from the requests that they make."""

from __future__ import annotations

from collections.abc import Iterator
from keyword import iskeyword
from pathlib import Path

from cmbuild.pipeline.evaluation import EvalRequest
from cmbuild.pipeline.options import Option, options
from cmbuild.pipeline.request import BuildRequest, PackageRequest, RunRequest
from cmbuild.workers.evaluation import DataRequest

HEAD = '''"""Options of the functions, for type checkers and editors; generated from the requests.

`./cmbuildw test tests/cmbuild/api/test_options.py --rewrite` writes this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict

PathLike = str | Path
'''

_PARAMETERS = {"model", "board", "data", "until"}
_INTERNAL = {"label", "is_compared", "first"}
_REQUESTS: dict[str, tuple[type, ...]] = {
    "BuildOptions": (BuildRequest,),
    "RunOptions": (RunRequest,),
    "PackageOptions": (PackageRequest,),
    "EvaluateOptions": (EvalRequest, DataRequest),
}
_DOCS = {
    "BuildOptions": "Options of `build` and `fit`: those of `cmbuild build`.",
    "RunOptions": "Options of `run` and `sweep`: those of `cmbuild run`.",
    "PackageOptions": "Options of `package`: those of `cmbuild package`.",
    "EvaluateOptions": "Options of `evaluate`: those of `cmbuild eval`.",
}


def typed_options() -> str:
    """The whole module."""
    return HEAD + "".join(f"\n\n{_class(name)}" for name in _REQUESTS)


def _class(name: str) -> str:
    fields = _fields(name)
    inherited = {each: _fields(each) for each in _REQUESTS if each != name}
    bases = [each for each, own in inherited.items() if own.items() < fields.items()]
    known = {field for base in bases for field in inherited[base]}
    parents = ", ".join(bases or ["TypedDict"])
    lines = [f"class {name}({parents}, total=False):", f'    """{_DOCS[name]}"""', ""]
    own = (f"    {field}: {kind}" for field, kind in fields.items() if field not in known)
    return "\n".join([*lines, *own]) + "\n"


def _fields(name: str) -> dict[str, str]:
    """The types of a class's options, by name."""
    given = _PARAMETERS | _INTERNAL | ({"output_dir"} if name == "PackageOptions" else set())
    if name == "PackageOptions":
        given.discard("board")
    fields: dict[str, str] = {}
    for request in _REQUESTS[name]:
        for each in options(request):
            for spelling in dict.fromkeys((each.field, each.name)):
                if spelling not in given and spelling.isidentifier() and not iskeyword(spelling):
                    fields.setdefault(spelling, " | ".join(_types(each)))
    return fields


def _types(option: Option) -> Iterator[str]:
    choices = option.spelling.choices if option.spelling else ()
    words = option.spelling.words if option.spelling else ()
    known = {str: "str", int: "int", bool: "bool", float: "float", Path: "PathLike"}
    kind = known.get(option.kind, str(option.kind))
    if choices:
        kind = f"Literal[{', '.join(map(_quoted, choices))}]"
    if option.is_multiple:
        kind = f"{kind} | Sequence[{kind}]" if kind == "PathLike" else f"Sequence[{kind}]"
    yield kind
    if words:
        yield f"Literal[{', '.join(map(_quoted, words))}]"
    if option.is_optional:
        yield "None"


def _quoted(word: str) -> str:
    return f'"{word}"'
