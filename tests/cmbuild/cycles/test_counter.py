"""What counts the cycles of a run, or why nothing does."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.images import kernel_harness

from cmbuild.catalog import find_board
from cmbuild.cycles.clock import ClockTable
from cmbuild.cycles.counter import by_step, core_title, counter
from cmbuild.cycles.plugin import NoCounter
from cmbuild.image.record import ImageRecord
from cmbuild.launchers.registry import launchers_of
from cmbuild.process import Processes
from cmbuild.toolchain import tools
from cmcompiler.plan.record import StepRecord


def refused(board_name: str, image: Path, folder: Path, launcher: str = "qemu") -> str:
    board = find_board(board_name)
    chosen = next(each for each in launchers_of(board) if each.name == launcher)
    with pytest.raises(NoCounter) as caught:
        counter(chosen, board, image, ImageRecord.of(image), folder=folder, processes=Processes())
    return caught.value.reason


def test_reasons_are_a_few_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = kernel_harness("corstone300", "mve", tmp_path).image
    assert refused("corstone320", image, tmp_path) == "no timing model of the Cortex-M85"
    assert "does not count blocks" in refused("corstone300", image, tmp_path, "fvp")
    assert refused("corstone300", image, tmp_path).endswith("does not read a clock")
    monkeypatch.setattr(tools, "find", lambda name: None)
    assert refused("corstone300", image, tmp_path).startswith("arm-none-eabi-objdump not found")


def test_cores_are_called_as_arm_does() -> None:
    assert [core_title(cpu) for cpu in ("cortex-m0plus", "cortex-m33")] == [
        "Cortex-M0+",
        "Cortex-M33",
    ]


def test_boards_state_their_clock() -> None:
    clock = find_board("rp2350").table(ClockTable)
    assert clock is not None
    assert clock.hertz == 150_000_000
    assert find_board("native").table(ClockTable) is None


def step(stages: int = 0, turns: tuple[int, ...] = ()) -> StepRecord:
    return StepRecord.model_construct(kernel="conv2d_s8", stages=stages, turns=turns)


def test_turns_count_for_their_stages_and_what_is_between_them_for_the_stream() -> None:
    steps = [step(), step(2, (0, 1, 0)), step(), step(), step()]
    between = [100.0]
    stream = [1.0, 10.0, 2.0, 20.0, 3.0, 30.0, 4.0]
    intervals = [7.0, *between, *stream, *between, 9.0]
    assert by_step(intervals, steps) == [7, 10, 40, 20, 9]
    assert by_step([*intervals, *between], steps) == [7, 10, 40, 20, 9]


def test_the_time_of_the_host_is_not_counted() -> None:
    feed = step().model_copy(update={"kernel": "feed"})
    steps = [step(2, (0, 1)), feed, step()]
    assert by_step([1.0, 1000.0, 2.0, 20.0, 3.0], steps) == [6, 0, 20]


def test_steps_that_a_branch_leaves_out_cannot_be_told() -> None:
    assert by_step([7.0, 100.0, 9.0], [step()] * 3) == []
    assert by_step([7.0, 100.0, 9.0], [step()]) == []
    assert by_step([7.0, 1.0], [step(1, (0, 0)), step()]) == []
