"""Results of choosing precisions by need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cmbuild.display.decibels import Decibels


@dataclass(frozen=True, slots=True)
class MixedPart:
    """A module in the precision that was chosen for it.

    Attributes:
        layer: its path; empty for the model's own operators.
        precision: `8w8a`, `8w16a` and so on.
        snr_db: at the model's worst output, with nothing rounded but its weights and its result.
        cycles: of one inference, predicted.
        weights: bytes of constants.
    """

    layer: str
    precision: str
    snr_db: Decibels
    cycles: int
    weights: int


@dataclass(frozen=True, slots=True)
class NeedOutcome:
    """One need, and what the program has.

    Attributes:
        option: `--snr`.
        asked, has: dB, a share of samples, or bytes.
    """

    option: str
    asked: float
    has: float
    met: bool


@dataclass(frozen=True, slots=True)
class MixResult:
    """The precision of each module, chosen by need.

    Attributes:
        precision: by patterns of modules' paths, as cmbuild.toml takes it.
        parts: of the model, in the order in which they compute.
        needs: measured by the reference on samples that did not choose.
        samples: how many these are.
        cycles: of one inference, predicted.
        plain_cycles: with int8 everywhere.
        tried: programs that were exported and measured.
        core: whose cycles count, where those of the board's are not known.
    """

    precision: Mapping[str, str]
    parts: tuple[MixedPart, ...]
    needs: tuple[NeedOutcome, ...]
    samples: int
    cycles: int
    plain_cycles: int
    tried: int
    core: str

    @property
    def met(self) -> bool:
        return all(need.met for need in self.needs)
