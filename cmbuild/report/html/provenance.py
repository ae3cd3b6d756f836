"""Where each kind of number in a report comes from."""

from __future__ import annotations

from collections.abc import Mapping

from cmbuild.pipeline.results import RunResult


def sources(run: RunResult) -> Mapping[str, str]:
    """By what they are called in the report; the order is that of the table."""
    sources = {
        "Verification": f"outputs of {run.machine}, compared with the reference on this computer",
        "Measured cycles" if run.instructions.unit == "cycles" else "Instructions": (
            _instructions(run)
        ),
        "Cycles": _cycles(run),
    }
    if run.cycles is not None and run.cycles.milliseconds is not None:
        sources["Milliseconds"] = "cycles at the clock in the board's board.toml"
    if run.cycles is not None and (flash := run.cycles.with_flash) is not None:
        error = "not validated" if flash.error_percent is None else f"±{flash.error_percent} %"
        sources["With flash"] = f"the model of the chip's flash in board.toml, {error}"
    sources |= {
        "Multiply-accumulates": "exact: counted from the program's shapes",
        "Flash": "exact: sections of the linked image; weights are the plan's constants",
        "RAM": "exact: arena and variables of the linked image, and the reserved stack",
        "Arena over time": "exact: the plan's lifetimes, whatever the layout",
        "Share of float": (
            "estimated from the plan" if run.float.estimated else "of the counted instructions"
        ),
    }
    if run.memory.ram.stack is not None:
        sources["Stack used"] = f"measured: high-water mark of the run on {run.machine}"
    if run.accuracy is not None or run.fidelity is not None:
        sources["Accuracy"] = (
            "measured: outputs of the reference, which every core equals, against the float model"
            " in PyTorch"
        )
    if any(layer.snr_db is not None for layer in run.layers):
        sources["SNR of a layer"] = (
            "measured in PyTorch by `cmbuild eval --sensitivity`: of the model's outputs with that"
            " operator alone quantised"
        )
    return sources


def _instructions(run: RunResult) -> str:
    counted = run.instructions
    if counted.total is None:
        return counted.provenance
    kind = "one inference" if counted.unit == "cycles" else "one inference, never cycles"
    return f"{counted.provenance}: {kind}"


def _cycles(run: RunResult) -> str:
    if run.cycles is None:
        return f"not counted: {run.uncounted}" if run.uncounted else "not estimated"
    error = run.cycles.error_percent
    trust = "not validated" if error is None else f"±{error} % against published measurements"
    return f"{run.cycles.provenance}, {trust}"
