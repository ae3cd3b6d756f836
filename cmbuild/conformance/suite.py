"""Where ExecuTorch's tests of its Cortex-M backend are, and what they need."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from cmbuild.errors import Missing
from cmbuild.toolchain.versions import package
from cmcompiler.installation import pip_command

PLACE = ("backends", "cortex_m", "test")
EXTRA = "conformance"


class NotInstalled(Missing):
    template = "the Python package {package} is not installed"


class NoTests(Missing):
    template = "executorch {version} comes without the tests of its Cortex-M backend"


@dataclass(frozen=True, slots=True)
class Suite:
    """
    Attributes:
        folder: of the tests; never written to.
        version: of executorch.
    """

    folder: Path
    version: str

    @property
    def files(self) -> list[str]:
        """The files of tests below the folder, in order."""
        files = self.folder.rglob("test_*.py")
        return sorted(file.relative_to(self.folder).as_posix() for file in files)


def find_suite(parallel: bool) -> Suite:
    """The suite of the installed executorch, found without importing it.

    Args:
        parallel: whether tests will run in parallel.

    Raises:
        Missing: a package is not installed, or executorch has no tests.
    """
    needed = {"executorch": "executorch", "torch": "torch", "pytest": "pytest"}
    if parallel:
        needed["xdist"] = "pytest-xdist"
    for name, distribution in needed.items():
        if importlib.util.find_spec(name) is None:
            raise NotInstalled(package=distribution, hint=pip_command(EXTRA))
    version = package("executorch") or "of an unknown version"
    spec = importlib.util.find_spec("executorch")
    for place in (spec and spec.submodule_search_locations) or ():
        folder = Path(place).joinpath(*PLACE)
        if (folder / "tester.py").is_file():
            return Suite(folder, version)
    raise NoTests(version=version, hint=pip_command(EXTRA))
