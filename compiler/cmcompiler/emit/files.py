"""The files of an emitted folder by name, and what its record says."""

from __future__ import annotations

from pathlib import Path

from cmcompiler.plan.record import PlanRecord

C_FILE = "model.c"
HEADER = "model.h"
ASSEMBLY = "model.S"
WEIGHTS = "weights.bin"
RECORD = "plan.json"


def read_record(folder: Path) -> PlanRecord:
    """What plan.json of an emitted folder says."""
    return PlanRecord.model_validate_json((folder / RECORD).read_bytes())
