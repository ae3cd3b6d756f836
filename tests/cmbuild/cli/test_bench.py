"""`cmbuild bench` on small programs: shared work, figures, files, and cells that fail."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from harness.commands import NETWORK, PROGRAMS, Commands

MODELS = f"{NETWORK},{PROGRAMS / 'two_inputs.pte'}"


def test_every_model_runs_on_every_board(cmbuild: Commands) -> None:
    result = cmbuild(
        *("bench", "--models", MODELS, "--boards", "corstone300,corstone300:scalar,native"),
        *("--csv", "out/table.csv", "--markdown", "table.md", "--json", "-j", "2"),
    )
    assert result.exit_code == 0, result.stderr
    cells = result.document["cells"]
    places = [(cell["model"], cell["board"], cell["isa"]) for cell in cells]
    boards = [("corstone300", "mve"), ("corstone300", "scalar"), ("native", "scalar")]
    assert places == [(model, *board) for model in ("network", "two_inputs") for board in boards]
    assert all(cell["verified"] and cell["rule"] == "exact" for cell in cells)
    counted = [cell["instructions"] for cell in cells]
    assert 0 < counted[0] < counted[1]
    assert counted[2] is None
    lines = (cmbuild.folder / "out" / "table.csv").read_text().splitlines()
    table = list(csv.DictReader(lines))
    assert [row["instructions"] for row in table] == [str(n or "") for n in counted]
    markdown = (cmbuild.folder / "table.md").read_text()
    assert f"| network | corstone300 | mve | gcc | exact | {counted[0]:,} |" in markdown
    libraries = [step for step in result.document["steps"] if step["name"] == "libs"]
    assert len(libraries) == 3


def test_both_types_of_weights_where_kernels_read_them(cmbuild: Commands) -> None:
    words = ("bench", "--models", NETWORK, "--boards", "mps2-an386,native")
    result = cmbuild(*words, "--weights-as", "int8,int16", "--json")
    cells = result.document["cells"]
    places = [(cell["board"], cell["weights"]) for cell in cells]
    assert places == [("mps2-an386", "int8"), ("mps2-an386", "int16"), ("native", "int8")]
    assert all(cell["verified"] for cell in cells)
    narrow, wide = (cell["memory"]["flash"]["weights"] for cell in cells[:2])
    assert wide > narrow
    assert cells[1]["cycles"] < cells[0]["cycles"]
    assert cmbuild(*words, "--weights-as", "int8,int32").exit_code == 2
    refused = cmbuild(*words, "--activations", "int16")
    assert (refused.exit_code, "needs a model to export" in refused.stderr) == (2, True)


def test_figures_are_those_of_run(cmbuild: Commands) -> None:
    """The name of a file says nothing of a model of the zoo, and of its figures upstream."""
    name = cmbuild.folder / "mv2.pte"
    shutil.copyfile(NETWORK, name)
    (cell,) = cmbuild("bench", "--models", name, "--boards", "corstone300", "--json").document[
        "cells"
    ]
    assert (cell["model"], cell["upstream"]) == ("mv2", None)
    run = cmbuild("run", name, "--board", "corstone300", "--json")
    assert run.done == {"simulate"}, "a bench leaves what a run needs"
    document = run.document
    assert cell["instructions"] == document["instructions"]["total"]
    assert cell["memory"] == document["memory"]


def test_a_cell_that_fails_says_why_and_the_others_go_on(cmbuild: Commands) -> None:
    names = (NETWORK, PROGRAMS / "dynamic_shape.pte")
    words = ("bench", "--models", ",".join(map(str, names)), "--boards", "native,small")
    board = cmbuild.folder / "boards" / "small"
    board.mkdir(parents=True)
    corstone = Path(__file__).parents[3] / "boards" / "corstone300"
    for file in corstone.iterdir():
        text = file.read_text()
        (board / file.name).write_text(text.replace('size = "4M"', 'size = "256"'))
    result = cmbuild(*words)
    assert (result.exit_code, result.stderr) == (1, "error: 3 of 4 runs failed\n")
    assert "dynamic shapes are not supported" in result.stdout
    steps, _, cells = result.stdout.partition("\n\n")
    for shown in (steps, cells):
        assert "the arena needs" in shown
    assert max(map(len, result.stdout.splitlines())) <= 80
    document = json.loads(cmbuild(*words, "--json").stdout)
    assert [cell["verified"] for cell in document["cells"]] == [True, False, False, False]
    assert (document["exit_code"], document["error"]) == (1, "3 of 4 runs failed")
    states = {(step["name"], step["state"]) for step in document["steps"]}
    assert ("simulate", "skipped") in states


def test_a_wrong_result_fails_its_cell(cmbuild: Commands, tmp_path: Path) -> None:
    """A launcher that ends without a proof stands for all that goes wrong in a run."""
    compiler = tmp_path / "bin"
    compiler.mkdir()
    qemu = compiler / "qemu-system-arm"
    qemu.write_text("#!/bin/sh\necho broken; exit 3\n")
    qemu.chmod(0o755)
    path = f"{compiler}:{cmbuild.variables['PATH']}"
    broken = Commands(cmbuild.folder, cmbuild.cache, {"PATH": path})
    result = broken("bench", "--models", NETWORK, "--boards", "native,corstone300", "--json")
    assert result.exit_code == 1
    good, bad = result.document["cells"]
    assert good["verified"]
    assert "QEMU mps3-an547" in bad["failure"]


@pytest.mark.long
def test_toolchains_side_by_side(cmbuild: Commands) -> None:
    """On the board where an M55 stands for the M85, which every number says."""
    words = ("bench", "--models", NETWORK, "--boards", "corstone320", "--toolchain", "gcc,clang")
    result = cmbuild(*words)
    assert result.exit_code == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 80
    cells = cmbuild(*words, "--json").document["cells"]
    assert [(cell["toolchain"], cell["verified"]) for cell in cells] == [
        ("gcc", True),
        ("clang", True),
    ]
    assert all(cell["caveat"] == "M85 image on an M55 model" for cell in cells)
    assert all(cell["caveat"] in cell["provenance"] for cell in cells)
    run = cmbuild("run", NETWORK, "--board", "corstone320", "--toolchain", "clang").stdout
    assert "M85 image on an M55 model" in " ".join(run.split())
    assert (cmbuild.folder / "build" / "network" / "corstone320.clang" / "runner").is_dir()
