"""File names of an emitted folder, and its record."""

from __future__ import annotations

from pathlib import Path

import numpy as np

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
