"""ExecuTorch's runtime from PyPI's wheel: headers, and libraries for this computer."""

from __future__ import annotations

from pathlib import Path

import executorch

from cmbuild.executorch.runtime import Runtime

ROOT = Path(next(iter(executorch.__path__)))
INCLUDE = ROOT / "include"
C10 = INCLUDE / "executorch" / "runtime" / "core" / "portable_type" / "c10"

NATIVE = Runtime(
    include=INCLUDE,
    libraries=tuple(
        ROOT / "lib" / f"libexecutorch{part}.so"
        for part in ("", "_kernels_optimized", "_kernels_quantized", "_threadpool")
    ),
)
"""The runtime with ExecuTorch's portable, optimized and quantized kernels, without cortex_m's."""
