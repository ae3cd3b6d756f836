"""The runner on a simulated board and on this computer, with a hand-planned model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from harness.toy_image import INTERFACE, expected, write_toy_model

from cmbuild.launchers.base import Refused
from cmbuild.launchers.execution import (
    Incomplete,
    Request,
    TooManySamples,
    Watch,
    WrongImage,
    execute,
)

PLACES = [("corstone300", "mve"), ("corstone300", "scalar"), ("native", "scalar")]
SAMPLES = [bytes(range(100)), bytes(range(100, 200)), bytes(100)]
REQUEST = Request(
    samples=[[sample] for sample in SAMPLES],
    profiled=2,
    watches=[Watch(0, 0, 100), Watch(0, 0x80000000, 3), Watch(1, 50, 2)],
)


@pytest.fixture(scope="module", params=PLACES, ids="-".join)
def image(request, bench, tmp_path_factory):
    place = bench(*request.param)
    folder = tmp_path_factory.mktemp("toy, ü")
    model = write_toy_model(folder / "model")
    return place, place.builder.runner(place.board, place.library, model, folder / "build")


def run(image, folder: Path, request: Request = REQUEST, interface=INTERFACE):
    place, elf = image
    return execute(
        place.launcher,
        place.builder.processes,
        elf,
        interface,
        request,
        folder=folder / "streams",
        timeout=60,
        log=folder / "log",
    )


def test_outputs_and_traces_of_every_sample(image, tmp_path):
    execution = run(image, tmp_path)
    assert execution.outputs == tuple(map(expected, SAMPLES))
    for sample, trace in zip(SAMPLES, execution.traces, strict=True):
        first = bytes((byte + 1) % 256 for byte in sample)
        assert trace == (first, b"(WX", bytes((byte + 1) % 256 for byte in first[50:52]))


def test_instructions_are_the_same_on_every_run(image, tmp_path):
    first, second = run(image, tmp_path / "1"), run(image, tmp_path / "2")
    assert first.ticks == second.ticks
    assert first.step_ticks == second.step_ticks
    assert [len(steps) for steps in first.step_ticks] == [2, 2]
    assert first.ticks[:2] == tuple(map(sum, first.step_ticks))


def test_watching_costs_nothing(image, tmp_path):
    plain = run(image, tmp_path / "1", Request(REQUEST.samples, profiled=0))
    watched = run(image, tmp_path / "2")
    # The clock's unit is slightly shorter than an instruction, so rounding is visible.
    assert max(abs(a - b) for a, b in zip(plain.ticks, watched.ticks, strict=True)) <= 2


def test_an_instruction_count_is_plausible(image, tmp_path):
    place, _ = image
    execution = run(image, tmp_path)
    count = place.launcher.instructions(execution.step_ticks[0][1])
    if place.board.name == "native":
        assert count is None
    else:
        assert 300 <= count <= 1000  # 100 times load, add, store, and the loop


def test_stack_is_measured(image, tmp_path):
    stack = run(image, tmp_path).stack
    assert stack is None if image[0].board.name == "native" else 100 < stack < 2048


def test_no_samples(image, tmp_path):
    assert run(image, tmp_path, Request(samples=[])).outputs == ()


def test_more_samples_than_an_image_can_count(image, tmp_path):
    samples = [[SAMPLES[0]]] * ((1 << 31) // 100 + 1)
    with pytest.raises(TooManySamples, match="the limit is 21,474,836"):
        run(image, tmp_path, Request(samples))


@pytest.mark.parametrize(
    "other",
    [
        replace(INTERFACE, identity="fedcba9876543210"),
        replace(INTERFACE, steps=3),
        replace(INTERFACE, outputs=(100, 5)),
    ],
    ids=["identity", "steps", "size"],
)
def test_another_image_is_noticed(image, tmp_path, other):
    with pytest.raises((WrongImage, Incomplete)):
        run(image, tmp_path, interface=other)


@pytest.mark.parametrize(
    "watch",
    [
        Watch(0, 0x7FFFFFF0, 4),
        Watch(0, 0, 1 << 20),
        Watch(0, 4, 0x7FFFFFFF),
        Watch(0, 0x80000000, 69),
        Watch(1, 0x80000045, 0),
        Watch(1, 0xFFFFFFFF, 1),
    ],
    ids=lambda watch: f"{watch.place:x}+{watch.size:x}",
)
def test_memory_outside_of_arena_and_constants_is_not_shown(image, tmp_path, watch):
    with pytest.raises(Refused, match="a watch leaves arena and constants"):
        run(image, tmp_path, Request([[SAMPLES[0]]], watches=[watch]))
