"""Cycles between a run's readings of the clock; kept, because most runs repeat one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from cmbuild.cache.fingerprint import fingerprint
from cmbuild.cache.store import Entry
from cmbuild.process import Processes

if TYPE_CHECKING:
    from cmbuild.cycles.core import Core
    from cmbuild.cycles.fetches import Flash
    from cmbuild.cycles.flash import FlashModel

_FILE = "intervals.json"
DISASSEMBLY = "disassembly.txt"


class Intervals(BaseModel):
    """A core model's figures for a run.

    Attributes:
        cycles: during steps and between them, in turn.
        instructions: executed meanwhile.
        unknown: instructions that ran and that no table knows, by text.
        fetches: of lines from flash meanwhile, at most; empty where those are not asked for.
        with_flash: cycles with what the core waits for flash; empty where no reads were counted.
    """

    model_config = ConfigDict(frozen=True)

    cycles: tuple[float, ...]
    instructions: tuple[float, ...]
    unknown: tuple[str, ...]
    fetches: tuple[int, ...] = ()
    with_flash: tuple[float, ...] = ()


def intervals(
    core: type[Core],
    image: Path,
    profile: Path,
    *,
    objdump: Path,
    processes: Processes,
    kept: Entry,
    flash: Flash | None = None,
    model: FlashModel | None = None,
    more: int = 0,
) -> Intervals:
    """The intervals of a run; from `kept` if it holds those of the same image and profile.

    Args:
        profile: how often each block ran.
        flash: whose fetches are counted too.
        model: of the chip's flash, whose reads the profile has.
        more: readings of the clock before the first step, besides those that measure its cost.

    Raises:
        BrokenProfile: the profile is cut short, or was not written.
        ProcessFailed, TimedOut: objdump cannot read the image.
    """
    made_from = fingerprint(
        image=image,
        profile=profile,
        models=Path(__file__).parent,
        core=core.__name__,
        flash=repr(flash),
        model=repr(model),
        more=more,
    )
    if not kept.holds(made_from):
        from cmbuild.cycles.disassembly import disassemble
        from cmbuild.cycles.estimate import Estimator
        from cmbuild.cycles.profile import read_profile

        counts = read_profile(profile)
        with kept.replace(made_from) as folder:
            code = disassemble(objdump, image, core.architecture, processes, folder / DISASSEMBLY)
            estimator = Estimator(core, code, counts, more)
            cycles, measured = estimator.intervals(), estimator.measured
            result = Intervals(
                cycles=tuple(cycles),
                instructions=tuple(estimator.instructions()),
                unknown=tuple(sorted(estimator.unknown)),
                fetches=tuple(flash.fetches(estimator, each) for each in measured) if flash else (),
                with_flash=() if model is None else tuple(estimator.with_flash(model)),
            )
            (folder / _FILE).write_text(result.model_dump_json())
    return Intervals.model_validate_json((kept.folder / _FILE).read_bytes())
