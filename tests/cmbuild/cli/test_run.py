"""`cmbuild run` from a small program to a verified run, on QEMU and on this computer."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from harness.commands import NETWORK, PROGRAMS, Commands

from cmcompiler.importer.build import build_graph
from cmcompiler.ir.reference import evaluate
from cmcompiler.pte.reader import read_program

BOARDS = ["corstone300", "native"]


@pytest.mark.parametrize("board", BOARDS)
def test_program_is_verified_to_the_bit(cmbuild: Commands, board: str) -> None:
    result = cmbuild("run", NETWORK, "--board", board, "-n", "3", "--json")
    assert (result.exit_code, result.stdout[:1]) == (0, "{"), result.stderr
    document = result.document
    expected = {
        "model": "network",
        "board": board,
        "target": "cortex-m55",
        "isa": "mve" if board == "corstone300" else "scalar",
        "executor": "static",
        "launcher": "qemu" if board == "corstone300" else "native",
        "verified": True,
        "rule": "exact",
        "samples": 3,
        "mismatches": 0,
    }
    assert {key: document[key] for key in expected} == expected
    assert document["weights"] == {"source": "program", "detail": "those in network.pte"}
    assert [output["shape"] for output in document["outputs"]] == [[1, 3]]
    ram, flash = document["memory"]["ram"], document["memory"]["flash"]
    assert ram["total"] == ram["arena"] + ram["static"] + ram["reserved"]
    assert flash["total"] == flash["code"] + flash["weights"]
    for name in ("program", "plan", "image", "outputs", "log"):
        assert Path(document["artifacts"][name]).exists()


def test_instructions_are_counted_and_repeat(cmbuild: Commands) -> None:
    counts = []
    for _ in range(2):
        document = cmbuild("run", NETWORK, "--board", "corstone300", "--json").document
        instructions = document["instructions"]
        assert "simulated" in instructions["provenance"]
        ops = instructions["per_op"]
        per_op = [op["instructions"] for op in ops]
        assert instructions["total"] == pytest.approx(sum(per_op), abs=len(per_op))
        assert all((op["instructions"] > 0) == (op["title"] != "feed") for op in ops)
        counts.append((instructions["total"], per_op))
    assert counts[0] == counts[1]


def test_cycles_are_estimated_for_every_op_and_repeat(cmbuild: Commands) -> None:
    words = ("run", NETWORK, "--board", "mps2-an505", "--json")
    cycles, again = (cmbuild(*words, "-n", n).document["cycles"] for n in ("1", "3"))
    assert cycles == again, "they are of the first sample"
    per_op = [op["cycles"] for op in cycles["per_op"]]
    assert cycles["total"] == pytest.approx(sum(per_op), abs=len(per_op))
    assert all((op["cycles"] > 0) == (op["title"] != "feed") for op in cycles["per_op"])
    assert cycles["clock_hz"] == 20_000_000
    assert cycles["milliseconds"] == pytest.approx(cycles["total"] / 20e3)
    assert (cycles["error_percent"], cycles["unknown"]) == (5, [])
    assert "Cortex-M33, zero wait states" in cycles["provenance"]


def test_what_counts_no_cycles_says_why(cmbuild: Commands) -> None:
    result = cmbuild("run", NETWORK, "--board", "native")
    assert "time      not counted: " in result.stdout
    result = cmbuild("run", NETWORK, "--board", "corstone320")
    assert "not counted: no timing model of the Cortex-M85" in result.stdout
    result = cmbuild("run", NETWORK, "--board", "corstone320", "--json")
    assert result.document["cycles"] is None


@pytest.mark.parametrize("isa", ["scalar", "dsp"])
def test_lower_instruction_sets_give_the_same(cmbuild: Commands, isa: str) -> None:
    document = cmbuild("run", NETWORK, "--board", "corstone300", "--isa", isa, "--json").document
    assert (document["isa"], document["verified"]) == (isa, True)


def test_screen_has_everything(cmbuild: Commands) -> None:
    result = cmbuild("run", NETWORK, "--board", "corstone300")
    assert (result.exit_code, result.stderr) == (0, "")
    for words in (
        "  simulate  QEMU mps3-an547",
        "✓ verified: 1 of 1 sample bit-exact; layers not compared: a program alone has",
        "  input     input_0 float32 1×3×",
        "  output    output_0 float32 1×3",
        "not cycles",
        "  flash     ",
        "  RAM       ",
        "  conv2d 3×3 ",
        "  artefacts build/network/corstone300/",
    ):
        assert words in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "\x1b" not in result.stdout


def test_given_inputs_give_the_outputs_of_the_reference(cmbuild: Commands) -> None:
    graph = build_graph(read_program(NETWORK.read_bytes()))
    shape = graph.inputs[0].shape
    inputs = np.random.default_rng(7).normal(size=(2, *shape)).astype(np.float32)
    np.save(cmbuild.folder / "one.npy", inputs[0])
    np.save(cmbuild.folder / "two.npy", inputs)
    expected = np.stack([evaluate(graph, (sample,)).outputs[0] for sample in inputs])
    for name, count, outputs in (("one", 1, expected[0]), ("two", 2, expected)):
        result = cmbuild(
            *("run", NETWORK, "--board", "native", "--input", f"{name}.npy"),
            *("--output-dir", f"out {name}", "--json"),
        )
        assert result.document["samples"] == count
        actual = np.load(cmbuild.folder / f"out {name}" / "output_0.npy")
        assert actual.dtype == outputs.dtype
        np.testing.assert_array_equal(actual, outputs)
        assert np.array_equal(np.load(result.document["outputs"][0]["file"]), outputs)


def test_quantised_boundary(cmbuild: Commands) -> None:
    for board in BOARDS:
        document = cmbuild("run", NETWORK, "--board", board, "--io", "int8", "--json").document
        assert document["verified"]
        assert [port["dtype"] for port in (*document["inputs"], *document["outputs"])] == [
            "int8",
            "int8",
        ]
        assert document["inputs"][0]["scale"] > 0


def test_rows_from_outside(cmbuild: Commands) -> None:
    words = ("--feed", "rows", "-n", "2", "--json")
    for board, io in zip(BOARDS, ("int8", "uint8"), strict=True):
        document = cmbuild("run", NETWORK, "--board", board, "--io", io, *words).document
        assert document["verified"]
        assert document["inputs"][0]["dtype"] == io
        assert [port["feed"] for port in document["inputs"]] == ["rows"]
        assert [port["feed"] for port in document["outputs"]] == ["whole"]


def test_several_inputs(cmbuild: Commands) -> None:
    document = cmbuild("run", PROGRAMS / "two_inputs.pte", "--board", "native", "--json").document
    assert document["verified"]
    assert len(document["inputs"]) == 2


def test_a_method_runs_by_its_name(cmbuild: Commands) -> None:
    words = ("run", PROGRAMS / "two_methods.pte", "--board", "native", "--json")
    for method, shape in (("forward", [2, 3]), ("backward", [])):
        result = cmbuild(*words, "--method", method)
        assert result.exit_code == 0, result.stderr
        assert result.document["verified"]
        assert [port["shape"] for port in result.document["inputs"]] == [shape]
    result = cmbuild(*words, "--method", "other")
    assert (result.exit_code, result.document["exit_code"]) == (2, 2)
    assert "'other'" in result.document["error"]
    assert result.document["hint"] == "--method takes one of: backward, forward"


def test_samples_depend_on_the_seed_and_their_number_alone(cmbuild: Commands) -> None:
    def outputs(*options: str) -> np.ndarray:
        result = cmbuild("run", NETWORK, "--board", "native", "--json", *options)
        return np.load(result.document["outputs"][0]["file"])

    three = outputs("-n", "3")
    assert three.shape == (3, 1, 3)
    np.testing.assert_array_equal(outputs(), three[0])
    assert not np.array_equal(outputs("--seed", "1"), three[0])


def test_doit_does_the_same(cmbuild: Commands) -> None:
    root = Path(__file__).parents[3]
    words = (f"model={NETWORK}", "board=native", f"build_dir={cmbuild.folder}", "json=1")
    for verb in ((), ("run",)):
        result = cmbuild("-f", root / "dodo.py", "-d", root, *words, program=("doit", *verb))
        assert result.exit_code == 0, result.stderr
        assert result.document["verified"]


def test_verbose_shows_commands_that_a_shell_takes(cmbuild: Commands) -> None:
    result = cmbuild("run", NETWORK, "--board", "native", "-v")
    assert "\n$ " in result.stdout
    assert "/cmake " in result.stdout


def test_zig_needs_no_compiler_of_the_system(cmbuild: Commands, tmp_path: Path) -> None:
    """Only the simulator is on PATH, and what may come from PyPI as well."""
    for name in ("qemu-system-arm", "cmake", "ninja"):
        if program := shutil.which(name):
            (tmp_path / name).symlink_to(program)
    assert (tmp_path / "qemu-system-arm").exists()
    alone = replace(cmbuild, environment={"PATH": str(tmp_path)})
    words = ("run", NETWORK, "--board", "microbit", "--json")
    result = alone(*words, "--toolchain", "zig")
    assert result.exit_code == 0, result.stderr
    assert result.document["verified"]
    for toolchain, missing in (("gcc", "arm-none-eabi-gcc"), ("clang", "clang")):
        result = alone(*words, "--toolchain", toolchain)
        assert (result.exit_code, result.document["error"]) == (3, f"{missing} not found")
        assert "apt-get install" in result.document["hint"]


def test_a_board_that_hides_one_of_cmbuild_is_named(cmbuild: Commands) -> None:
    own = cmbuild.folder / "boards" / "native"
    shutil.copytree(Path(__file__).parents[3] / "boards" / "native", own)
    result = cmbuild("run", NETWORK, "--board", "native")
    assert result.exit_code == 0, result.stderr
    assert f"native is the board in {own}, not cmbuild's" in result.stdout
