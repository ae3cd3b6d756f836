"""C++ that registers only the kernels of a program, written by upstream's code generator."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path

from cmbuild.errors import Failed, Missing
from cmbuild.executorch.checkout import Checkout
from cmbuild.executorch.families import Family
from cmbuild.process import Processes
from cmcompiler.installation import pip_command

_SECONDS = 300.0
_SELECTION = "selected_operators.yaml"
SOURCE = "RegisterCodegenUnboxedKernelsEverything.cpp"


class NoGenerator(Missing):
    template = "ExecuTorch's code generator needs the Python package {package}"


class NothingGenerated(Failed):
    template = "ExecuTorch's code generator did not write {file} for {family}"
    hint = "cmbuild knows ExecuTorch 1.5; the full output is in {log}"


def check_generator() -> None:
    """Raises NoGenerator, which names the package that is not installed."""
    for package in ("torchgen", "yaml"):
        if importlib.util.find_spec(package) is None:
            raise NoGenerator(package=package, hint=pip_command("export"))


def generate(
    checkout: Checkout,
    operators: Mapping[Family, tuple[str, ...]],
    processes: Processes,
    folder: Path,
) -> None:
    """Writes the C++ for each family of operators into a folder of the same name.

    Raises:
        NoGenerator, ProcessFailed, NothingGenerated.
    """
    check_generator()
    declarations = _torchgen() / "packaged" / "ATen" / "native"
    for family, names in operators.items():
        place = (folder / family.name).absolute()
        place.mkdir()
        log = folder / f"{family.name}.log"

        def run(module: str, *arguments: str, log: Path = log) -> None:
            processes.run(
                [sys.executable, "-m", module, *arguments],
                cwd=checkout.root,
                env={"PYTHONDONTWRITEBYTECODE": "1"},
                log=log,
                timeout=_SECONDS,
                name=f"{checkout.root.name}'s {module}",
            )

        selection = place / _SELECTION
        roots = f"--root_ops={','.join(names)}"
        run("codegen.tools.gen_oplist", f"--output_path={selection}", roots)
        run(
            "codegen.gen",
            f"--source-path={checkout.root / 'codegen'}",
            f"--install-dir={place}",
            f"--tags-path={declarations / 'tags.yaml'}",
            f"--aten-yaml-path={declarations / 'native_functions.yaml'}",
            f"--op-selection-yaml-path={selection}",
            f"{family.option}={checkout.root / family.declarations}",
        )
        if not (place / SOURCE).is_file():
            raise NothingGenerated(file=SOURCE, family=family.name, log=log)


def generated(operators: Mapping[Family, tuple[str, ...]], folder: Path) -> tuple[Path, ...]:
    """The sources that `generate` wrote into a folder."""
    return tuple(folder / family.name / SOURCE for family in operators)


def _torchgen() -> Path:
    specification = importlib.util.find_spec("torchgen")
    assert specification is not None and specification.origin is not None
    return Path(specification.origin).parent
