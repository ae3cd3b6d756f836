"""The files of a plan: model.c, model.h, model.S, weights.bin, plan.json."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cmcompiler.emit.files import (
    ASSEMBLY,
    C_FILE,
    HEADER,
    RECORD,
    WEIGHTS,
    check_record,
    read_record,
)
from cmcompiler.emit.recording import record
from cmcompiler.emit.source import assembly, c_file, header, identifier
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
    identity = _identity(program, c_file(plan, prefix, ""), plan.constants)
    contents = record(plan, prefix, identity)
    (folder / C_FILE).write_text(c_file(plan, prefix, identity), encoding="utf-8")
    (folder / HEADER).write_text(header(plan, prefix), encoding="utf-8")
    (folder / ASSEMBLY).write_text(assembly(prefix, WEIGHTS), encoding="utf-8")
    (folder / WEIGHTS).write_bytes(plan.constants)
    (folder / RECORD).write_text(contents.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return contents


def check_emitted(folder: Path, program: bytes) -> None:
    """Checks that a folder holds what `emit` wrote for a program.

    Raises:
        OSError, ValueError: a file is missing, or does not belong to the plan in plan.json.
    """
    contents = read_record(folder)
    source = (folder / C_FILE).read_text("utf-8").replace(contents.identity, "")
    constants = (folder / WEIGHTS).read_bytes()
    if _identity(program, source, constants) != contents.identity:
        raise ValueError("its files are not of this plan")
    if (folder / ASSEMBLY).read_text("utf-8") != assembly(contents.model, WEIGHTS):
        raise ValueError(f"{ASSEMBLY} is not that of the plan")
    if contents.model.upper() not in (folder / HEADER).read_text("utf-8"):
        raise ValueError(f"{HEADER} is not that of the plan")
    check_record(contents)


def _identity(program: bytes, source: str, constants: bytes) -> str:
    digest = hashlib.sha256()
    for part in (program, source.encode(), constants):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:32]
