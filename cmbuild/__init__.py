"""From a PyTorch model to verified firmware on Arm Cortex-M."""

# No import, not even of __future__: the first that a command runs, before it can handle Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cmbuild.accuracy import EvalResult
    from cmbuild.api.functions import build, evaluate, fit, package, pool, run, sweep
    from cmbuild.api.plots import Point, plot
    from cmbuild.errors import CmbuildError
    from cmbuild.pipeline.results import BuildResult, PackageResult, RunResult
    from cmbuild.sizing.results import FitResult
    from cmbuild.workers.results import SweepResult

__all__ = [
    "BuildResult",
    "CmbuildError",
    "EvalResult",
    "FitResult",
    "PackageResult",
    "Point",
    "RunResult",
    "SweepResult",
    "build",
    "evaluate",
    "fit",
    "package",
    "plot",
    "pool",
    "run",
    "sweep",
]

_PLACES = {
    "BuildResult": "cmbuild.pipeline.results",
    "CmbuildError": "cmbuild.errors",
    "EvalResult": "cmbuild.accuracy",
    "FitResult": "cmbuild.sizing.results",
    "PackageResult": "cmbuild.pipeline.results",
    "Point": "cmbuild.api.plots",
    "RunResult": "cmbuild.pipeline.results",
    "SweepResult": "cmbuild.workers.results",
    "build": "cmbuild.api.functions",
    "evaluate": "cmbuild.api.functions",
    "fit": "cmbuild.api.functions",
    "package": "cmbuild.api.functions",
    "plot": "cmbuild.api.plots",
    "pool": "cmbuild.api.functions",
    "run": "cmbuild.api.functions",
    "sweep": "cmbuild.api.functions",
}


def __getattr__(name: str) -> "Any":
    """Loads what is used, so that `import cmbuild` takes no time."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)
