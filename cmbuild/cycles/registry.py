"""The timing models there are: modules of `cores`, each named as boards name its core."""

from __future__ import annotations

from cmbuild import discovery
from cmbuild.cycles import cores
from cmbuild.cycles.core import Core


def modelled_cores() -> tuple[str, ...]:
    return discovery.names(cores)


def timing_model(cpu: str) -> type[Core] | None:
    """None where nobody has written one. Imports no other core's."""
    if cpu not in modelled_cores():
        return None
    model: type[Core] = discovery.entry(cores, cpu, "MODEL")
    return model
