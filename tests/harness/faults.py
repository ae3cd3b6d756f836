"""Which fault is tried in which stage of a run, what must come of it, or why it cannot happen."""

from __future__ import annotations

from dataclasses import dataclass

STAGES = ("export", "libs", "plan", "reference", "runner", "simulate")
FAULTS = {
    "kill": "SIGKILL before the result is in place",
    "full disk": "no space left",
    "read-only disk": "the folder cannot be written",
    "lost child": "the stage's child process is killed",
    "wrong clock": "times of 1970 or 2100",
    "garbage": "a simulator that prints noise and a good end",
    "bit rot": "flipped bits in each file of the result",
}


@dataclass(frozen=True)
class Cell:
    """A fault in a stage.

    Attributes:
        exit_code: of the run that meets it, or minus the signal; None if it is tried otherwise.
        message: part of what it says.
        note: for the document.
    """

    fault: str
    stage: str
    note: str
    exit_code: int | None = None
    message: str = ""


_TRIED = {
    "kill": ("killed; next run right", -9, ""),
    "full disk": ("exit 3", 3, "no space left on the disk that holds"),
    "read-only disk": ("exit 2", 2, "cannot write"),
    "lost child": ("exit 1", 1, "killed by SIGKILL"),
}
_REASONS = {
    **{("lost child", stage): "no child" for stage in ("plan", "reference")},
    **{("garbage", stage): "no simulator" for stage in STAGES},
    ("garbage", "simulate"): "exit 1",
    **{("wrong clock", stage): "cached, right" for stage in STAGES},
    **{("bit rot", stage): "made again, right" for stage in STAGES},
    **{(fault, "simulate"): "done each time" for fault in ("wrong clock", "bit rot")},
}


def _cell(fault: str, stage: str) -> Cell:
    if (fault, stage) in _REASONS:
        return Cell(fault, stage, _REASONS[fault, stage])
    return Cell(fault, stage, *_TRIED[fault])


CELLS = [_cell(fault, stage) for fault in FAULTS for stage in STAGES]


def document() -> str:
    """The matrix as a table in Markdown."""
    rows = [f"| fault | {' | '.join(STAGES)} |", f"| --- {'| --- ' * len(STAGES)}|"]
    for fault, meaning in FAULTS.items():
        notes = (cell.note for cell in CELLS if cell.fault == fault)
        rows.append(f"| {fault}: {meaning} | {' | '.join(notes)} |")
    return "\n".join(rows)
