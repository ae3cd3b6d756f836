"""Readers of TensorFlow Lite's operators; importing the package registers them all.

Arithmetic: that of TensorFlow Lite Micro with CMSIS-NN.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
