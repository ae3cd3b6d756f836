"""Templates of pages, and what all of them use."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from cmbuild import text
from cmbuild.report.stream import printable
from cmbuild.report.words import layout, plain


def rendered(template: str, document: Mapping[str, Any], embedded_as: str, **values: Any) -> str:
    """A page made from a JSON document, which it contains under a name.

    Args:
        values: what else the template uses, a `title` among them.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": text.count,
        "bytes": text.size,
        "shape": text.shape,
        "percent": text.percent,
        "thousands": "{:,}".format,
        "figure": _figure,
        "breakable": _breakable,
        "laid_out": layout,
        "plain": plain,
    }
    environment.globals["at"] = at
    names = {"embedded": _embedded(document), "embedded_as": embedded_as, "run": document}
    whole = environment.get_template(template).render(names | values)
    # Names are whatever a program says; HTML has no place for escapes of terminals.
    return printable(whole)


def _breakable(name: str) -> Markup:
    """A name that lines may be broken in, at its dots and underscores rather than anywhere."""
    return Markup(re.sub(r"(?<=[._/:])(?=\w)", "<wbr>", str(escape(name))))


def _figure(value: float) -> str:
    """`1,509,744`, `0.985`, `41.23`"""
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 1e4 else f"{value:.4g}"


def at(document: Mapping[str, Any], path: str) -> Any:
    """The value at a path: `memory.flash.total`, `layers.3.cycles`."""
    value: Any = document
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def _embedded(document: object) -> str:
    """JSON that cannot end the element around it."""
    return json.dumps(document, ensure_ascii=False).replace("<", "\\u003c")
