"""Programs with branches and with mutable buffers, in images of their own."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from harness.commands import NETWORK, PROGRAMS, Commands
from harness.states import expected, samples

BOARDS = ["native", "corstone300", "microbit"]


@pytest.mark.parametrize("board", BOARDS)
def test_an_image_takes_each_way(cmbuild: Commands, board: str) -> None:
    """Four samples of the flags; emitted code in place of the kernel harness's batches."""
    flags = np.array(list(product([True, False], repeat=2)))
    x = np.random.default_rng(1).normal(size=(4, 2, 4)).astype(np.float32)
    for name, array in (("first", flags[:, 0]), ("second", flags[:, 1]), ("x", x)):
        np.save(cmbuild.folder / f"{name}.npy", array)
    inputs = [word for name in ("first", "second", "x") for word in ("--input", f"{name}.npy")]
    result = cmbuild("run", PROGRAMS / "branches.pte", "--board", board, "--json", *inputs)
    assert result.exit_code == 0, result.stderr
    assert (result.document["verified"], result.document["samples"]) == (True, 4)
    if board != "native":
        per_op = result.document["instructions"]["per_op"]
        taken = [op["instructions"] > 0 for op in per_op if op["kernel"] != "branch"]
        assert any(taken) and not all(taken)


def run_states(cmbuild: Commands, name: str, board: str, *options: str) -> list[np.ndarray]:
    """The outputs of four samples."""
    words = []
    for number, stack in enumerate(zip(*samples(name), strict=True)):
        np.save(cmbuild.folder / f"{number}.npy", np.stack(stack))
        words += ["--input", f"{number}.npy"]
    program = PROGRAMS / f"{name}.pte"
    result = cmbuild("run", program, "--board", board, "--json", *words, *options)
    assert result.exit_code == 0, result.stderr
    assert (result.document["verified"], result.document["samples"]) == (True, 4)
    ram = result.document["memory"]["ram"]
    assert 0 < ram["state"] < ram["arena"]
    return [np.load(output["file"]) for output in result.document["outputs"]]


@pytest.mark.parametrize("board", BOARDS)
def test_samples_are_runs_one_after_the_other(cmbuild: Commands, board: str) -> None:
    for name in ("initialised_buffer", "cache_in_place", "states"):
        right = expected(name, samples(name))
        for actual, wanted in zip(
            run_states(cmbuild, name, board), zip(*right, strict=True), strict=True
        ):
            np.testing.assert_array_equal(actual, np.stack(wanted))


@pytest.mark.parametrize("board", ["native", "corstone300"])
def test_each_sample_may_begin_anew(cmbuild: Commands, board: str) -> None:
    name = "initialised_buffer"
    right = [expected(name, [sample])[0] for sample in samples(name)]
    actual = run_states(cmbuild, name, board, "--reset")
    for ours, wanted in zip(actual, zip(*right, strict=True), strict=True):
        np.testing.assert_array_equal(ours, np.stack(wanted))


def test_the_screen_tells_how_much_is_state(cmbuild: Commands) -> None:
    result = cmbuild("run", PROGRAMS / "cache.pte", "--board", "native")
    assert " arena (128 B of it state) + " in result.stdout


def test_a_programs_stage_is_its_plan(cmbuild: Commands) -> None:
    words = ("build", NETWORK, "--board", "native", "--intermediates", "texts")
    assert "1 file in texts" in cmbuild(*words).stdout
    (file,) = (cmbuild.folder / "texts").iterdir()
    assert file.name == "00-plan.txt"
    assert "[cortex_m::quantized_conv2d.out #" in file.read_text()
