"""The functions and results of `cmbuild` and `cmcompiler.api`, from their docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType

import cmbuild
from cmcompiler import api


def page() -> str:
    parts = ["# Python\n", "## cmbuild\n", *_members(cmbuild, cmbuild.__all__)]
    own = [
        name
        for name, value in vars(api).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == api.__name__
    ]
    return "\n".join([*parts, "## cmcompiler.api\n", *_members(api, own)])


def _members(module: ModuleType, names: list[str]) -> Iterator[str]:
    for name in names:
        value = getattr(module, name)
        if not callable(value):
            continue
        yield f"### {module.__name__}.{name}\n"
        if inspect.isfunction(value):
            yield f"```python\n{name}{inspect.signature(value)}\n```\n"
        yield f"```text\n{inspect.getdoc(value) or ''}\n```\n"
