"""The files of a plan: model.c, model.h, model.S, weights.bin, plan.json."""

from __future__ import annotations

from pathlib import Path

from cmcompiler.emit.constants import assembly
from cmcompiler.emit.files import (
    ASSEMBLY,
    C_FILE,
    HEADER,
    RECORD,
    WEIGHTS,
    identity_of,
)
from cmcompiler.emit.recording import record
from cmcompiler.emit.source import c_file, header, identifier
from cmcompiler.plan.plan import Plan
from cmcompiler.plan.record import PlanRecord


def emit(
    plan: Plan,
    folder: Path,
    program: bytes = b"",
    name: str | None = None,
    prefix: str | None = None,
) -> PlanRecord:
    """Writes a plan into an existing folder; the same plan gives the same bytes.

    Args:
        program: the `.pte` the plan was made from; part of the identity.
        name: of the model, if other than the graph's; becomes the prefix of all symbols.
        prefix: of all symbols, if not made from the name.

    Returns: the contents of plan.json.
    """
    prefix = prefix or identifier(name or plan.name)
    identity = identity_of(program, c_file(plan, prefix, ""), plan.constants)
    contents = record(plan, prefix, identity)
    (folder / C_FILE).write_text(c_file(plan, prefix, identity), encoding="utf-8")
    (folder / HEADER).write_text(header(plan, prefix), encoding="utf-8")
    (folder / ASSEMBLY).write_text(assembly(prefix, WEIGHTS), encoding="utf-8")
    (folder / WEIGHTS).write_bytes(plan.constants)
    (folder / RECORD).write_text(contents.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return contents
