"""Flash, RAM and stack of a package are what was measured, or said to be unknown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from harness.commands import NETWORK, Commands
from harness.packages import run
from harness.sources import ROOT

from cmbuild.packaging.footprint import Footprint, StackUse
from cmbuild.packaging.measurement import OPTIONS, find_compiler, measured_stack
from cmbuild.process import Processes
from cmbuild.toolchain import tools
from cmcompiler.emit.files import read_record

CPU = "cortex-m33"
MEASURED = ("--target", CPU, "--name", "other")


def footprint(package: Path) -> Footprint:
    document = json.loads((package / "package.json").read_text())
    return Footprint.model_validate(document["footprint"])


def test_code_is_that_of_its_objects(packages: Callable[[str], list[Path]], tmp_path: Path) -> None:
    package, _ = packages(CPU)
    made = footprint(package)
    flags = ("-mcpu=cortex-m33", "-mthumb", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard", *OPTIONS)
    main = tmp_path / "main.c"
    main.write_text('#include "kws.h"\nstruct kws m;\nint main(void) { return kws_run(&m); }\n')
    files = [main, *package.glob("*.[cS]"), *package.glob("runtime/*.c")]
    link = ("-nostdlib", "-Wl,--gc-sections", "-Wl,-e,main", "-Wl,--unresolved-symbols=ignore-all")
    program = tmp_path / "program"
    run("arm-none-eabi-gcc", *flags, f"-I{package}", *files, *link, "-o", program)
    said = run("arm-none-eabi-size", program)
    text, data, _ = map(int, said.splitlines()[-1].split()[:3])
    # The header's other functions and the C library's come to that, and no more.
    assert made.code is not None
    assert text + data - made.weights < made.code < text + data - made.weights + 3000
    assert re.search(r"compiled by gcc \d+\.\d+\.\d+ -Os for cortex-m33", made.compiled)


def test_header_and_record_say_the_same(packages: Callable[[str], list[Path]]) -> None:
    package, stateful = packages(CPU)
    for folder in (package, stateful):
        made, header = footprint(folder), (folder / f"{folder.name}.h").read_text()
        plain = " ".join(re.sub(r"^ \*", "", header, flags=re.MULTILINE).split())
        assert f"FLASH. Code: {made.code} bytes, " in plain
        assert f"Arena: {made.arena} bytes, of which state: {made.state}. " in plain
        assert f"Static variables: {made.static} bytes. " in plain
        assert made.stack is None and "STACK. Not known" in plain
    assert footprint(package).state == 0 < footprint(stateful).state


def test_stack_is_that_of_a_run_of_the_same_plan(cmbuild: Commands) -> None:
    """Under another name; and the arena of the other feed is what a package with it takes."""
    board = ("--board", "mps2-an505")
    assert cmbuild("run", NETWORK, *board, "--feed", "rows").exit_code == 0
    whole = cmbuild("package", NETWORK, *MEASURED, "--json").document
    assert (whole["footprint"]["feed"], whole["footprint"]["stack"]) == ("whole", None)
    printed = cmbuild("package", NETWORK, *MEASURED, "--feed", "rows")
    assert "measured on QEMU mps2-an505" in printed.stdout
    rows = cmbuild("package", NETWORK, *MEASURED, "--feed", "rows", "--json").document
    assert rows["footprint"]["rows_arena"] is None
    assert rows["arena_bytes"] == whole["footprint"]["rows_arena"] != whole["arena_bytes"]
    again = cmbuild("run", NETWORK, *board, "--feed", "rows", "--json").document
    used = again["memory"]["ram"]["stack"]
    assert rows["footprint"]["stack"] == {"bytes": used, "machine": "QEMU mps2-an505"}


@pytest.mark.parametrize(
    ("change", "is_known"),
    [
        ({}, True),
        ({"target": "cortex-m4"}, False),
        ({"target": None}, False),
        ({"identity": "0" * 32}, False),
        ({"identity": None}, False),
        ({"memory": "nonsense"}, False),
    ],
)
def test_stacks_of_other_runs_do_not_count(
    change: dict[str, object],
    is_known: bool,
    packages: Callable[[str], list[Path]],
    tmp_path: Path,
) -> None:
    package, _ = packages(CPU)
    plan = read_record(package)
    place = tmp_path / "board"
    for name in ("plan", "simulate"):
        (place / name).mkdir(parents=True)
    weights = (package / "kws_weights.bin").read_bytes()
    (place / "plan" / "plan.json").write_text(plan.model_dump_json())
    (place / "plan" / "weights.bin").write_bytes(weights)
    flash = {"code": 1, "weights": 1, "total": 2}
    ram = {"arena": 1, "static": 1, "stack": 720, "total": 3}
    figures = {
        **{"model": "network", "board": "mine", "verified": True, "accuracy": None},
        **{"fidelity": None, "float": {"share": 0}, "cycles": None},
        "instructions": {"total": 1, "unit": "instructions", "per_op": []},
        "memory": {"flash": flash, "ram": ram},
        **{"target": CPU, "machine": None, "identity": plan.identity},
    }
    (place / "simulate" / "figures.json").write_text(json.dumps(figures | change))
    expected = StackUse(bytes=720, machine="mine") if is_known else None
    assert measured_stack(plan, weights, CPU, tmp_path) == expected
    assert measured_stack(plan, weights + b"\0", CPU, tmp_path) is None


def test_options_are_those_of_the_runtime() -> None:
    cmake = ROOT / "runtime" / "cmake"
    written = (cmake / "options.cmake").read_text() + (cmake / "float.cmake").read_text()
    assert set(OPTIONS) <= set(re.split(r"[\s()]+", written))


@pytest.mark.parametrize("tool", ["arm-none-eabi-gcc", "cmake"])
def test_nothing_is_measured_without_tools(
    tool: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    find = tools.find
    monkeypatch.setattr(tools, "find", lambda name: None if name == tool else find(name))
    assert find_compiler(Processes(), tmp_path / "log") is None
    unknown = Footprint(
        **{"code": None, "compiled": f"for {tool} is not installed", "static": None},
        **{"weights": 1, "arena": 2, "state": 0, "stack": None, "feed": "whole"},
        rows_arena=None,
    )
    flash, ram, stack = unknown.notes()
    assert flash == f"FLASH. Code: not measured, for {tool} is not installed. Weights: 1 bytes."
    assert "Static variables: not measured." in ram and stack.startswith("STACK. Not known: ")
