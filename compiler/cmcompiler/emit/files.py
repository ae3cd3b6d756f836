"""File names of an emitted folder, and its record."""

from __future__ import annotations

from pathlib import Path

from cmcompiler.plan.record import PlanRecord

C_FILE = "model.c"
HEADER = "model.h"
ASSEMBLY = "model.S"
WEIGHTS = "weights.bin"
RECORD = "plan.json"


def read_record(folder: Path) -> PlanRecord:
    return PlanRecord.model_validate_json((folder / RECORD).read_bytes())
