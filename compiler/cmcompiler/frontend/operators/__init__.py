"""Torch operators in the namespace `cmbuild`, each with its float form, int8 form and lowering."""

from __future__ import annotations

import importlib
import pkgutil


def define() -> None:
    """Registers all of them with torch and the quantizer."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
