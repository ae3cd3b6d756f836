"""Imports go one way, torch stays out of sight, and modules stay short."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from cmbuild.strictfile import tomllib

ROOT = Path(__file__).parents[1]
LONGEST = 450
HEAVY = {"torch", "torchvision", "torchao", "executorch", "sklearn", "tosa"}

# These import torch as they are imported, so they are imported only where they are used.
NEED_TORCH = {
    "cmcompiler.frontend.backend",
    "cmcompiler.frontend.buffers",
    "cmcompiler.frontend.passes.clamp_fusion",
    "cmcompiler.frontend.lowering",
    "cmcompiler.frontend.quantization",
    "cmcompiler.frontend.passes.user_op_replacement",
    "cmcompiler.frontend.passes.hardswish_table",
    "cmcompiler.frontend.passes.functionalization",
}
# What `pip install cmbuild` must run without the extra `export`.
LIGHT = (
    "cmbuild",
    "cmcompiler.pte",
    "cmcompiler.ir",
    "cmcompiler.decode",
    "cmcompiler.importer",
    "cmcompiler.ops",
    "cmcompiler.plan",
    "cmcompiler.emit",
)

# Layers from the top; a module imports from its own layer or from those after it.
LAYERS = ("dodo", "cmbuild.__main__", "cmbuild.cli", "cmbuild.tasks", "cmbuild", "cmcompiler")


@dataclass(frozen=True)
class Import:
    """An import statement: of which module, by which, and whether it runs at once."""

    importer: str
    imported: str
    at_once: bool

    def __str__(self) -> str:
        return f"{self.importer} → {self.imported}"


def sources() -> dict[str, Path]:
    """Every module of the project by name, tests aside."""
    places = {"cmbuild": ROOT, "compiler/cmcompiler": ROOT / "compiler"}
    found = {"dodo": ROOT / "dodo.py"}
    for folder, base in places.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(base).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = sources()


def imports_of(name: str, path: Path) -> Iterator[Import]:
    """Those for the type checker alone are left out."""

    def walk(node: ast.AST, at_once: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from (Import(name, alias.name, at_once) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{path}: imports are absolute here"
                for alias in child.names:
                    whole = f"{child.module}.{alias.name}"
                    yield Import(name, whole if whole in MODULES else str(child.module), at_once)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                yield from (each for part in child.orelse for each in walk(part, at_once))
            else:
                is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from walk(child, at_once and not is_function)

    yield from walk(ast.parse(path.read_text()), at_once=True)


IMPORTS = [each for name, path in MODULES.items() for each in imports_of(name, path)]


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def layer(name: str) -> int | None:
    return next((n for n, package in enumerate(LAYERS) if within(name, package)), None)


def is_heavy(name: str) -> bool:
    return name.partition(".")[0] in HEAVY


def test_the_walk_sees_the_project():
    assert {
        "dodo",
        "cmbuild.cli",
        "cmbuild.errors",
        "cmcompiler.frontend.backend",
    } <= MODULES.keys()
    assert Import("cmbuild.errors", "cmcompiler.errors", True) in IMPORTS
    assert any(each.imported == "torch" and not each.at_once for each in IMPORTS)


def test_imports_go_one_way():
    upwards = []
    for each in IMPORTS:
        ours = layer(each.imported)
        if ours is not None and ours < layer(each.importer):
            upwards.append(str(each))
    assert upwards == []


def test_only_processes_are_started_by_process():
    starters = {"subprocess", "multiprocessing", "pty"}
    assert {each.importer for each in IMPORTS if each.imported in starters} == {"cmbuild.process"}
    calls = re.compile(r"\bos\.(system|popen|fork\w*|exec\w+|spawn\w+|posix_spawn\w*)\(")
    assert [name for name, path in MODULES.items() if calls.search(path.read_text())] == []


def test_what_needs_torch_says_so():
    assert {e.importer for e in IMPORTS if e.at_once and is_heavy(e.imported)} == NEED_TORCH
    at_once = [e for e in IMPORTS if e.at_once and e.imported in NEED_TORCH]
    assert [str(e) for e in at_once if e.importer not in NEED_TORCH] == []


def test_only_backend_touches_the_cortex_m_backend():
    users = {e.importer for e in IMPORTS if within(e.imported, "executorch.backends.cortex_m")}
    assert users == {"cmcompiler.frontend.backend"}


def test_the_way_from_program_to_board_never_mentions_torch():
    light = [e for e in IMPORTS if any(within(e.importer, package) for package in LIGHT)]
    assert len(light) > 100
    assert [str(e) for e in light if is_heavy(e.imported) or e.imported in NEED_TORCH] == []


@pytest.mark.parametrize("arguments", [["--help"], ["models"], ["boards"], ["run", "--help"]])
def test_the_command_line_starts_without_torch(arguments: list[str]):
    script = f"""
import sys
from cmbuild.cli import main
status = main({arguments!r})
heavy = {HEAVY!r} & sys.modules.keys()
sys.exit(f"imported {{heavy}}" if heavy else status)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_imported_is_declared():
    """A package that is there by chance is missing on the next machine."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(each for extra in extras for each in extra)]
    declared = set(map(normalized, wanted))
    tests = [path for path in (ROOT / "tests").rglob("*.py") if "data" not in path.parts]
    by_tests = [each for path in tests for each in imports_of(path.name, path)]
    ours = {"cmbuild", "cmcompiler", "harness"}
    packages = packages_distributions()
    undeclared = []
    for each in [*IMPORTS, *by_tests]:
        name = each.imported.partition(".")[0]
        providers = {normalized(provider) for provider in packages.get(name, [name])}
        if name not in ours | sys.stdlib_module_names and not declared & providers:
            undeclared.append(str(each))
    assert undeclared == []


def normalized(requirement: str) -> str:
    """The name in a requirement as package indices compare it: PEP 503."""
    name = re.match(r"[\w.-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


def c_sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from (p for p in sorted((ROOT / folder).rglob("*.[chS]")) if p.is_file())


def included(path: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE)


def test_the_runtime_knows_no_board():
    files = list(c_sources("runtime"))
    assert files
    boards = [folder.name for folder in (ROOT / "boards").iterdir() if folder.is_dir()]
    assert "corstone300" in boards
    for path in files:
        assert [name for name in included(path) if "board.toml" in name or "boards/" in name] == []
        named = [name for name in boards if name != "native" and name in path.read_text().lower()]
        assert named == [], f"{path} names a board"


def test_boards_use_the_runtimes_public_headers():
    for path in c_sources("boards"):
        for name in included(path):
            assert (path.parent / name).is_file() or (ROOT / "runtime/include" / name).is_file(), (
                f"{path} includes {name}"
            )


def test_modules_are_short():
    files = [*MODULES.values(), *c_sources("runtime", "boards"), *(ROOT / "tests").rglob("*.py")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in files}
    assert {path: length for path, length in lengths.items() if length > LONGEST} == {}
