"""Imports go one way and in no circles, and torch stays out of sight."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from itertools import accumulate
from pathlib import Path

import pytest
from harness.sources import (
    HEAVY,
    IMPORTS,
    MODULES,
    ROOT,
    RUNNING,
    Import,
    circles,
    imports_of,
    is_heavy,
    torch_users,
    within,
)

from cmbuild.strictfile import tomllib

# These import torch as they are imported, so they are imported only where they are used.
NEED_TORCH = (
    "cmcompiler.frontend.adaptation",
    "cmcompiler.frontend.accumulators",
    "cmcompiler.frontend.annotations",
    "cmcompiler.frontend.backend",
    "cmcompiler.frontend.balanced_joins",
    "cmcompiler.frontend.bias_correction",
    "cmcompiler.frontend.compensated_rounding",
    "cmcompiler.frontend.computed_places",
    "cmcompiler.frontend.buffers",
    "cmcompiler.frontend.chosen_ranges",
    "cmcompiler.frontend.costly_roundings",
    "cmcompiler.frontend.divisors",
    "cmcompiler.frontend.equalisation",
    *("cmcompiler.frontend.failed_calls", "cmcompiler.frontend.forward_calls"),
    "cmcompiler.frontend.feedback",
    *(f"cmcompiler.frontend.fidelity.{name}" for name in ("cells", "check", "forced")),
    *(f"cmcompiler.frontend.fidelity.{name}" for name in ("double", "layer_errors", "pairing")),
    *(f"cmcompiler.frontend.fidelity.{name}" for name in ("parts", "resolution", "rewriting")),
    *(f"cmcompiler.frontend.fidelity.{name}" for name in ("decisions", "ties", "turns", "values")),
    "cmcompiler.frontend.fidelity.weighings",
    "cmcompiler.frontend.float_parts",
    "cmcompiler.frontend.gate_ranges",
    "cmcompiler.frontend.graph_names",
    "cmcompiler.frontend.image_means",
    "cmcompiler.frontend.joined_operands",
    "cmcompiler.frontend.joined_outputs",
    "cmcompiler.frontend.jumping_functions",
    "cmcompiler.frontend.weight_steps",
    "cmcompiler.frontend.whole_numbers",
    "cmcompiler.frontend.known_buffers",
    "cmcompiler.frontend.layouts",
    "cmcompiler.frontend.lean_passes",
    "cmcompiler.frontend.lowering",
    "cmcompiler.frontend.encoder_masks",
    "cmcompiler.frontend.meters",
    "cmcompiler.frontend.narrow_constants",
    "cmcompiler.frontend.narrow_observers",
    "cmcompiler.frontend.narrow_weights",
    "cmcompiler.frontend.observations",
    "cmcompiler.frontend.operators",
    "cmcompiler.frontend.output_meter",
    "cmcompiler.frontend.own_ranges",
    "cmcompiler.frontend.part_costs",
    "cmcompiler.frontend.passes",
    "cmcompiler.frontend.preparation",
    "cmcompiler.frontend.quantization",
    "cmcompiler.frontend.range_search",
    "cmcompiler.frontend.refinement",
    "cmcompiler.frontend.refusals",
    "cmcompiler.frontend.resolution",
    "cmcompiler.frontend.rewrites",
    "cmcompiler.frontend.row_rounding",
    "cmcompiler.frontend.sensitivity",
    "cmcompiler.frontend.sharing",
    "cmcompiler.frontend.short_observer",
    "cmcompiler.frontend.short_rounding",
    "cmcompiler.frontend.simulation",
    "cmcompiler.frontend.single_precision",
    "cmcompiler.frontend.softmax_ranges",
    "cmcompiler.frontend.state_ranges",
    "cmcompiler.frontend.torchscript",
    "cmcompiler.frontend.traceable_forms",
    "cmcompiler.frontend.training",
    "cmcompiler.frontend.tried_samples",
    "cmcompiler.frontend.unstorable",
)
# What `pip install cmbuild` must run without the extra `export`.
LIGHT = (
    "cmbuild",
    "cmcompiler.pte",
    "cmcompiler.tflite",
    "cmcompiler.ir",
    "cmcompiler.decode",
    "cmcompiler.importer",
    "cmcompiler.ops",
    "cmcompiler.plan",
    "cmcompiler.emit",
    "cmcompiler.executorch",
)

# Layers from the top; a module imports from its own layer or from those after it.
LAYERS = (
    "dodo",
    "cmbuild.__main__",
    "cmbuild.cli",
    "cmbuild.pytest_plugin",
    "cmbuild.api",
    "cmbuild.workers",
    "cmbuild.tasks",
    "cmbuild",
    "cmcompiler",
)

COMPILER_LAYERS = (
    ("__main__", "api"),
    ("frontend", "zoo", "extension"),
    ("executorch",),
    ("emit",),
    ("plan",),
    ("importer",),
    ("ops",),
    ("decode",),
    ("ir",),
    ("pte", "tflite"),
    ("arrays", "errors", "installation", "isa", "suggest", "target", "usercode"),
)
"""Those of the compiler, likewise: torch comes in at the second, a program's bytes at the tenth."""

CIRCLES: dict[frozenset[str], str] = {}
"""The circles that are left, each with its reason; the list only shrinks."""


MUTUAL = {
    frozenset({"pipeline", "projects"}): "a pipeline takes models from the project's file, and a "
    "project's budgets limit the results that the pipeline makes",
    frozenset({"pipeline", "verify"}): "a run is verified, and what is verified is a stage's",
}
"""Packages of cmbuild that know each other both ways, and why; the list only shrinks."""


def layer(name: str) -> int | None:
    return next((n for n, package in enumerate(LAYERS) if within(name, package)), None)


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
    for each in RUNNING:
        ours = layer(each.imported)
        if ours is not None and ours < layer(each.importer):
            upwards.append(str(each))
    assert upwards == []


def test_layers_of_the_compiler():
    ranks = {name: n for n, names in enumerate(COMPILER_LAYERS) for name in names}
    parts = {n.split(".")[1] for n in MODULES if n.startswith("cmcompiler.")}
    assert parts == ranks.keys(), "each module and package of cmcompiler has its layer"
    upwards = []
    for each in IMPORTS:
        ends = [name.split(".")[1:2] for name in (each.importer, each.imported)]
        if (
            within(each.importer, "cmcompiler")
            and within(each.imported, "cmcompiler")
            and all(ends)
        ):
            (importer,), (imported,) = ends
            if ranks[imported] < ranks[importer]:
                upwards.append(str(each))
    assert upwards == []


def test_imports_make_no_circle():
    """Neither those in functions nor those for types alone."""
    assert circles([Import("dodo", "cmbuild", True), Import("cmbuild", "dodo", False)]) == [
        frozenset({"dodo", "cmbuild"})
    ]
    actual = set(circles(IMPORTS))
    assert actual - CIRCLES.keys() == set(), "new circles"
    assert CIRCLES.keys() - actual == set(), "these have gone; take them off the list"


def test_any_module_can_be_imported_first():
    """Importing a module imports the packages that it is in, and what they import."""
    at_once = [each for each in RUNNING if each.at_once]
    packages = [
        Import(each.importer, package, True)
        for each in at_once
        for package in accumulate(each.imported.split(".")[:-1], "{}.{}".format)
        if not within(each.importer, package)
    ]
    assert circles([*at_once, *packages]) == []


def package_of(name: str) -> str | None:
    """The package right below cmbuild that a module is in."""
    parts = name.split(".")[:2]
    is_package = parts[0] == "cmbuild" and (ROOT / "/".join(parts) / "__init__.py").is_file()
    return parts[1] if is_package and len(parts) > 1 else None


def test_packages_know_each_other_one_way():
    """In functions and for types too."""
    pairs = {(package_of(each.importer), package_of(each.imported)) for each in IMPORTS}
    known = {pair for pair in pairs if None not in pair and len({*pair}) == 2}
    both = {frozenset(pair) for pair in known if pair[::-1] in known}
    assert both - MUTUAL.keys() == set(), "these know each other both ways"
    assert MUTUAL.keys() - both == set(), "these no longer do; take them off the list"


def test_only_what_users_call_renders():
    """The command line, and `cmbuild.run(html=…)`."""
    own = ("cmbuild.api", "cmbuild.cli", "cmbuild.report")
    actual = {
        each.importer
        for each in IMPORTS
        if within(each.imported, "cmbuild.report")
        and not any(within(each.importer, package) for package in own)
    }
    assert actual == set()


def test_the_front_end_and_the_zoo_alone_use_torch():
    """In functions too."""
    users = {each.importer for each in RUNNING if is_heavy(each.imported)}
    homes = ("cmcompiler.frontend", "cmcompiler.zoo")
    assert {name for name in users if not any(within(name, home) for home in homes)} == set()


def test_only_processes_are_started_by_process():
    starters = {"subprocess", "multiprocessing", "pty"}
    assert {each.importer for each in RUNNING if each.imported in starters} == {"cmbuild.process"}
    calls = re.compile(r"\bos\.(system|popen|fork\w*|exec\w+|spawn\w+|posix_spawn\w*)\(")
    listed = [name for name, path in MODULES.items() if calls.search(path.read_text())]
    servers = ["cmbuild.warm.server", "cmbuild.workers.fork_server"]
    assert listed == servers, "which cmbuild.process starts, fork for each request"


def test_what_needs_torch_says_so():
    assert torch_users() <= {name for name in MODULES if needs_torch(name)}
    at_once = [e for e in RUNNING if e.at_once and needs_torch(e.imported)]
    assert [str(e) for e in at_once if not needs_torch(e.importer)] == []


def test_only_backend_touches_the_cortex_m_backend():
    users = {e.importer for e in RUNNING if within(e.imported, "executorch.backends.cortex_m")}
    assert users == {"cmcompiler.frontend.backend"}


def needs_torch(name: str) -> bool:
    return any(within(name, place) for place in NEED_TORCH)


def test_the_way_from_program_to_board_never_mentions_torch():
    light = [e for e in RUNNING if any(within(e.importer, package) for package in LIGHT)]
    assert len(light) > 100
    assert [str(e) for e in light if is_heavy(e.imported) or needs_torch(e.imported)] == []


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


def test_a_run_with_everything_cached_does_without_operators():
    script = """
import sys
import cmbuild.cli.session, cmbuild.pipeline.pipeline, cmbuild.tasks.run
import cmcompiler.importer.programs
heavy = {"cmcompiler.ops", "cmcompiler.decode", "cmcompiler.tflite.reader"}
sys.exit(" ".join(heavy & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == ""


def test_what_is_imported_is_declared():
    """A package that is there by chance is missing on the next machine."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(each for extra in extras for each in extra)]
    declared = set(map(normalized, wanted))
    tests = [path for path in (ROOT / "tests").rglob("*.py") if "data" not in path.parts]
    by_tests = [each for path in tests for each in imports_of(path.name, path)]
    ours = {"cmbuild", "cmcompiler", "harness", "fuzz"}
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
