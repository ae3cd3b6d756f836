"""The measured cost of ExecuTorch's own Cortex-M runtime: upstream.json beside this file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

FILE = Path(__file__).with_suffix(".json")
MEASURED = "upstream"
"""The variant to compare with: upstream's own build options."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Measurement(_Strict):
    """One model on one core. All sizes in bytes.

    Attributes:
        variant: of upstream's build options; see `about` in the file.
        instructions: of one inference, counted as by `cmbuild run`.
        load_instructions: to load the program at start.
        text, data, bss: of the image without the program.
        pte: the program, weights included.
        arena, method_allocator: RAM that the program needs.
        stack: at its deepest point.
    """

    model: str
    target: str
    variant: str
    instructions: int
    load_instructions: int
    text: int
    data: int
    bss: int
    pte: int
    arena: int
    method_allocator: int
    stack: int

    @property
    def code(self) -> int:
        """Flash without the program."""
        return self.text + self.data

    @property
    def ram(self) -> int:
        return self.arena + self.method_allocator + self.data + self.bss + self.stack


class Measurements(_Strict):
    """The whole file; `about` says what was measured, and how."""

    about: str
    runs: tuple[Measurement, ...]


@cache
def measurements() -> Measurements:
    return Measurements.model_validate_json(FILE.read_bytes())


@cache
def measured() -> Mapping[tuple[str, str], Measurement]:
    """By model and target, with upstream's own options and the target's best instruction set."""
    return {(run.model, run.target): run for run in measurements().runs if run.variant == MEASURED}
