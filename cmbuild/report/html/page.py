"""Fills the template of the HTML report from the JSON document of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from cmbuild import text
from cmbuild.report.faithfulness import faithful_text
from cmbuild.report.fidelity import basis_text
from cmbuild.report.html.provenance import sources
from cmbuild.report.run import RunReport
from cmbuild.report.stream import printable
from cmbuild.report.words import layout, plain
from cmbuild.results import RunResult

_TEMPLATE = "run.html.j2"


def page(run: RunResult) -> str:
    """The report of a run. Its numbers are those of `cmbuild run --json`, which it contains; each
    is a <data> whose `class` is its path there.
    """
    document = json.loads(RunReport(run).document(()).model_dump_json())
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
        "breakable": _breakable,
        "laid_out": layout,
        "plain": plain,
    }
    environment.globals["at"] = at
    whole = environment.get_template(_TEMPLATE).render(
        run=document,
        sources=sources(run),
        uncounted=run.uncounted,
        basis="" if run.fidelity is None else basis_text(run.fidelity),
        faithful=faithful_text(run.faithfulness),
        faults=run.faithfulness.faults,
        embedded=_embedded(document),
    )
    # Names are whatever a program says; HTML has no place for escapes of terminals.
    return printable(whole)


def _breakable(name: str) -> Markup:
    """A name that lines may be broken in, at its dots and underscores rather than anywhere."""
    return Markup(re.sub(r"(?<=[._])(?=\w)", "<wbr>", str(escape(name))))


def at(document: Mapping[str, Any], path: str) -> Any:
    """The value at a path: `memory.flash.total`, `layers.3.cycles`."""
    value: Any = document
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def _embedded(document: object) -> str:
    """JSON that cannot end the element around it."""
    return json.dumps(document, ensure_ascii=False).replace("<", "\\u003c")
