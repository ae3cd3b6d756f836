"""Where cmbuild was installed from, and the commands that install more of it from there.

Needs only the standard library, since `cmbuildw` uses it on a fresh machine.
"""

from __future__ import annotations

import json
import shlex
import sys
from importlib import metadata
from pathlib import Path

TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's own packages for CPUs: those of PyPI bring 4 GB of CUDA along."""

_WITH_TORCH = ("conformance", "export", "search")


def checkout() -> Path | None:
    """The checkout that this package runs from, or None when it was installed from a wheel."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() and (root / "runtime").is_dir() else None


def pip_command(extra: str) -> str:
    """The command that installs an extra of cmbuild into this Python, ready to paste.

    It installs from where cmbuild itself came: the checkout, the wheel's file, or an index.
    """
    root = checkout()
    if root is not None:
        wanted = ["-e", f"{root}[{extra}]"]
    else:
        origin = _origin()
        wanted = [f"cmbuild[{extra}] @ {origin}" if origin else f"cmbuild[{extra}]"]
    index = ["--extra-index-url", TORCH_INDEX] if extra in _WITH_TORCH else []
    return pip_install(*index, *wanted)


def pip_install(*words: str) -> str:
    """The command that installs packages into this Python, ready to paste."""
    return shlex.join([sys.executable, "-m", "pip", "install", *words])


def _origin() -> str | None:
    """The file or repository that an installed cmbuild came from; None if from an index."""
    try:
        record = metadata.distribution("cmbuild").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return None
    if record is None:
        return None
    document = json.loads(record)
    url: str = document["url"]
    system = document.get("vcs_info", {}).get("vcs")
    return f"{system}+{url}" if system else url
