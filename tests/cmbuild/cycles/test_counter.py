"""What counts the cycles of a run, or why nothing does."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.images import kernel_harness

from cmbuild.cache.store import Entry
from cmbuild.catalog import find_board
from cmbuild.cycles.clock import ClockTable
from cmbuild.cycles.counter import Counter, by_step, core_title, counter
from cmbuild.cycles.plugin import NoCounter
from cmbuild.cycles.results import Executed
from cmbuild.image.record import ImageRecord
from cmbuild.launchers.registry import launchers_of
from cmbuild.process import Processes
from cmcompiler.plan.record import PlanRecord, StepRecord


def refused(board_name: str, image: Path, folder: Path, launcher: str = "qemu") -> str:
    board = find_board(board_name)
    chosen = next(each for each in launchers_of(board) if each.name == launcher)
    with pytest.raises(NoCounter) as caught:
        counter(chosen, board, image, ImageRecord.of(image), folder=folder, processes=Processes())
    return caught.value.reason


def test_reasons_are_a_few_words(tmp_path: Path) -> None:
    image = kernel_harness("corstone300", "mve", tmp_path).image
    assert "does not count blocks" in refused("corstone300", image, tmp_path, "fvp")
    assert refused("corstone300", image, tmp_path).endswith("does not read a clock")


PROFILE = """\
block 1 100 5
block 2 200 3
segment
0 1 1
{readings}segment
1 2 10
segment
2 1 2
end
"""


def test_without_a_model_of_the_core_instructions_are_counted(tmp_path: Path) -> None:
    reading = "segment\n1 2 1\n"
    file = tmp_path / "blocks.txt"
    file.write_text(PROFILE.format(readings=reading * 16))
    board = find_board("corstone320")
    launcher = launchers_of(board)[0]
    counting = Counter(launcher, board, None, tmp_path / "image", Path("objdump"), file)
    plan = PlanRecord.model_construct(steps=(step(),))
    cycles, counted = counting.counts(plan, Processes(), Entry(tmp_path / "kept"))
    assert (cycles, counting.uncounted) == (None, "no timing model of the Cortex-M85")
    assert counted == Executed(30 - 3, (30 - 3,))
    file.write_text("segment\n")
    with pytest.raises(NoCounter, match="cut short"):
        counting.counts(plan, Processes(), Entry(tmp_path / "kept"))


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
