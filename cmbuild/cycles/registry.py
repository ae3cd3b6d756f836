"""The timing models there are."""

from __future__ import annotations

from collections.abc import Mapping

from cmbuild import discovery
from cmbuild.cycles import cores
from cmbuild.cycles.core import Core

CORES: Mapping[str, type[Core]] = {
    cpu: model
    for models in discovery.entries(cores, "MODELS").values()
    for model in models
    for cpu in model.cpus
}
"""By the name of a core, as boards have it."""
