"""The files of an emitted folder: their names, and what is read of them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from cmcompiler.emit.constants import assembly
from cmcompiler.isa import Isa
from cmcompiler.plan.record import PlanRecord

C_FILE = "model.c"
HEADER = "model.h"
ASSEMBLY = "model.S"
WEIGHTS = "weights.bin"
RECORD = "plan.json"


def read_record(folder: Path) -> PlanRecord:
    """Raises OSError or ValueError for anything but a record."""
    return PlanRecord.model_validate_json((folder / RECORD).read_bytes())


def check_record(record: PlanRecord) -> None:
    """Checks what the fields of a record say of each other.

    Raises:
        ValueError: they contradict each other, or a type is unknown.
    """
    ports = (*record.inputs, *record.outputs)
    for dtype in (each.dtype for tensors in (ports, record.states) for each in tensors):
        try:
            np.dtype(dtype)
        except TypeError as error:
            raise ValueError(str(error)) from error
    for port in ports:
        if min(port.shape, default=1) < 0 or port.place.bytes < 0:
            raise ValueError(f"{port.name} has no size")
        if sorted(port.dim_order) != list(range(len(port.shape))):
            raise ValueError(f"{port.name} has no order of dimensions")
    Isa.named(record.isa)
    steps = len(record.steps)
    if len(record.timeline) not in (0, steps):
        raise ValueError("its timeline is not of its steps")
    if record.peak is not None and not 0 <= record.peak.step < steps:
        raise ValueError("its peak is not one of its steps")


def check_emitted(folder: Path, program: bytes) -> None:
    """Checks that a folder holds what `emit` wrote for a program.

    Raises:
        OSError, ValueError: a file is missing, or does not belong to the plan in plan.json.
    """
    contents = read_record(folder)
    source = (folder / C_FILE).read_text("utf-8").replace(contents.identity, "")
    constants = (folder / WEIGHTS).read_bytes()
    if identity_of(program, source, constants) != contents.identity:
        raise ValueError("its files are not of this plan")
    if (folder / ASSEMBLY).read_text("utf-8") != assembly(contents.model, WEIGHTS):
        raise ValueError(f"{ASSEMBLY} is not that of the plan")
    if contents.model.upper() not in (folder / HEADER).read_text("utf-8"):
        raise ValueError(f"{HEADER} is not that of the plan")
    check_record(contents)


def identity_of(program: bytes, source: str, constants: bytes) -> str:
    """A digest of what a plan was made from, and of what it became, without the digest itself."""
    digest = hashlib.sha256()
    for part in (program, source.encode(), constants):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:32]
