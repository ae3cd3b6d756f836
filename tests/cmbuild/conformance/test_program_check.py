"""Programs tried on boards: on the kernel harness, or in their own image where it is too small."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness.programs import program_bytes, program_graph

from cmbuild.conformance.harness import KernelHarness
from cmbuild.conformance.harness_image import HarnessStage
from cmbuild.conformance.program_check import Array, Differs, Trials
from cmbuild.errors import CmbuildError
from cmbuild.launchers.selection import choose
from cmbuild.pipeline.context import WorkContext
from cmbuild.pipeline.performing import perform
from cmbuild.pipeline.pipeline import Pipeline
from cmbuild.pipeline.request import BoardChoice
from cmbuild.process import Processes
from cmcompiler.errors import InvalidRequest, Unsupported
from cmcompiler.ir.reference import evaluate
from cmcompiler.ops.dequantize import Dequantize

NETWORK = program_bytes("network")
BOARDS = Path(__file__).parents[3] / "boards"

Bench = Callable[[str], Trials]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """bench("small"): a micro:bit whose memory has no room for a batch beside the stack."""
    folder = tmp_path_factory.mktemp("trials")
    small = folder / "boards" / "small"
    shutil.copytree(BOARDS / "microbit", small)
    descriptor = (small / "board.toml").read_text()
    cut = descriptor.replace('size = "2M"', 'size = "16K"')
    assert cut != descriptor
    (small / "board.toml").write_text(cut)
    made: dict[str, Trials] = {}

    def get(name: str) -> Trials:
        if name not in made:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("CMBUILD_CACHE", str(folder / "cache"))
                patch.setenv("CMBUILD_BOARD_PATH", str(folder / "boards"))
                processes = Processes()
                pipeline = Pipeline(WorkContext(processes, folder / "logs"))
                image = HarnessStage.of(pipeline, BoardChoice(board=name))
            perform(image.library, lambda: None, print)
            perform(image, lambda: None, print)
            runs = folder / name
            runs.mkdir()
            harness = KernelHarness(processes, choose(image.board), image.image)
            made[name] = Trials(image, harness, runs)
        return made[name]

    return get


def sample() -> list[Array]:
    """For NETWORK."""
    (port,) = program_graph("network").inputs
    return [np.random.default_rng(0).normal(size=port.shape).astype(np.float32)]


@pytest.mark.parametrize("board", ["native", "corstone300", "small"])
def test_outputs_are_the_references_and_leave_no_files(bench: Bench, board: str) -> None:
    actual = bench(board).run(NETWORK, sample())
    expected = evaluate(program_graph("network"), sample()).outputs
    assert [array.tobytes() for array in actual] == [array.tobytes() for array in expected]
    assert [array.shape for array in actual] == [array.shape for array in expected]
    assert list(bench(board).folder.iterdir()) == []


def test_several_outputs_in_logical_shapes(bench: Bench) -> None:
    inputs = [
        np.arange(np.prod(port.shape), dtype=port.tensor.dtype).reshape(port.shape)
        for port in program_graph("two_inputs").inputs
    ]
    actual = bench("native").run(program_bytes("two_inputs"), inputs)
    expected = evaluate(program_graph("two_inputs"), inputs).outputs
    assert len(actual) == 2
    for array, right in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(array, right)


@pytest.mark.parametrize("board", ["native", "small"])
def test_wrong_results_name_the_first_op(
    bench: Bench, board: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Dequantize.kernel_calls

    def wrong(*arguments: Any) -> Sequence[Any]:
        (call,) = right(*arguments)
        words: dict[str, Any] = dict(call.arguments)
        words["zero_point"] += 1
        return [replace(call, arguments=list(words.items()))]

    monkeypatch.setattr(Dequantize, "kernel_calls", wrong)
    with pytest.raises(Differs) as caught:
        bench(board).run(NETWORK, sample())
    assert caught.value.message.startswith(
        "1 of 1 outputs differ from the reference, first at op 4, dequantize "
        "(cortex_m::dequantize_per_tensor.out #4): "
    )
    (folder,) = bench(board).folder.iterdir()
    assert (folder / "program.pte").read_bytes() == NETWORK
    assert str(folder) in str(caught.value.hint)
    shutil.rmtree(folder)


def test_what_cannot_be_run_is_said_before_anything_is_written(bench: Bench) -> None:
    with pytest.raises(Unsupported, match=r"aten::max_pool3d"):
        bench("native").run(program_bytes("unknown_operators"), [])
    with pytest.raises(InvalidRequest, match="2 inputs were given, the model takes 1"):
        bench("native").run(NETWORK, sample() * 2)
    assert list(bench("native").folder.iterdir()) == []


def test_board_that_stops_early_is_told(bench: Bench, tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_text("#!/bin/sh\necho nothing to say; exit 3\n")
    image.chmod(0o755)
    native = bench("native")
    broken = replace(native, harness=replace(native.harness, image=image), folder=tmp_path)
    with pytest.raises(CmbuildError, match="this computer failed with status 3 before the image"):
        broken.run(NETWORK, sample())
