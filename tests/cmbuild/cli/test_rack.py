"""`run --on labgrid:…`, with labgrid's own coordinator and exporter and models of the chip."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from harness.commands import NETWORK, PROGRAMS, Commands
from harness.rack import Coordinator, Place, RackBoard, coordinator, serial, switch, until

RUN = ("run", NETWORK, "--board", "rp2350", "--on")


def test_a_place_is_acquired_flashed_and_released(cmbuild: Commands, tmp_path: Path) -> None:
    with RackBoard(tmp_path / "pico") as board:
        tags = {"board": "rp2350", "volume": str(board.volume)}
        place = Place("pico-1", serial(board.port), tags)
        with coordinator(tmp_path / "lab", place) as rack:
            client = replace(cmbuild, environment=rack.variables)
            result = client(*RUN, "labgrid:pico-1", "-n", "2", "--json")
            assert result.exit_code == 0, result.stderr
            assert rack.holder("pico-1") is None
    document = result.document
    assert (document["verified"], document["rule"], document["samples"]) == (True, "exact", 2)
    assert (document["launcher"], document["machine"]) == (
        "labgrid",
        "hardware at labgrid's pico-1",
    )
    assert document["instructions"]["unit"] == "cycles"
    assert "pico-1 is flashed, by uf2" in result.stderr
    assert board.is_flashed


@pytest.mark.long
def test_a_data_set_is_evaluated_at_a_place(cmbuild: Commands, tmp_path: Path) -> None:
    inputs = np.random.default_rng(0).uniform(-2, 3, (4, 1, 3, 6, 5)).astype(np.float32)
    np.savez(cmbuild.folder / "data.npz", input_0=inputs, labels=[0, 1, 2, 0])
    with RackBoard(tmp_path / "pico") as board:
        tags = {"board": "rp2350", "volume": str(board.volume)}
        place = Place("pico-1", serial(board.port), tags)
        with coordinator(tmp_path / "lab", place) as rack:
            client = replace(cmbuild, environment=rack.variables)
            words = ("eval", *RUN[1:], "labgrid:pico-1", "--data", "data.npz", "--json")
            result = client(*words)
            assert result.exit_code == 0, result.stderr
            assert rack.holder("pico-1") is None
    reference, device = result.document["forms"]
    assert reference["accuracy"] == device["accuracy"]
    assert (result.document["samples"], board.is_flashed) == (4, True)


@pytest.mark.long
def test_models_are_compared_on_the_boards_of_a_rack(cmbuild: Commands, tmp_path: Path) -> None:
    models = f"{NETWORK},{PROGRAMS / 'two_inputs.pte'}"
    with rack_of_two(tmp_path, cmbuild) as rack:
        words = ("--models", models, "--boards", "rp2350", "--on", "labgrid:board=rp2350")
        result = rack.client("bench", *words, "--json", "-j", "2")
        held = [rack.coordinator.holder(f"pico-{number}") for number in (1, 2)]
    assert (result.exit_code, held) == (0, [None, None]), result.stderr
    cells = result.document["cells"]
    assert [cell["verified"] for cell in cells] == [True, True]
    for cell in cells:
        assert (cell["launcher"], cell["instructions"]) == ("labgrid", None)
        assert cell["cycles"] > 0 and cell["cycles_error_percent"] is None
    bare = cmbuild("bench", "--models", NETWORK, "--on", "labgrid:board=rp2350")
    assert (bare.exit_code, bare.stderr) == (2, "error: --on labgrid:board=rp2350 needs --boards\n")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Coordinator]:
    """A rack without boards."""
    two = {"first": {"cls": "NetworkSerialPort", **serial(1)["NetworkSerialPort"]}}
    two["second"] = {"cls": "NetworkSerialPort", **serial(2)["NetworkSerialPort"]}
    places = (
        Place("free-1", serial(1), {"board": "rp2350"}),
        Place("bare-1", {"NetworkService": {"address": "localhost", "username": "root"}}),
        Place("gone-1", {}, {"shelf": "c"}),
        Place("two-1", two),
        Place("lost-1", serial(1), {"serial": "uart"}),
        Place("held-1", serial(1), {"board": "other"}),
    )
    with coordinator(tmp_path_factory.mktemp("lab"), *places) as rack:
        rack.client("-p", "held-1", "acquire", user="bob")
        yield rack


@dataclass(frozen=True)
class Bad:
    """What cannot be run on, and what that is told with."""

    on: str
    exit_code: int
    error: str
    hint: str


BAD = (
    Bad("labgrid:free-2", 2, "unknown labgrid place 'free-2'", "did you mean free-1?"),
    Bad("labgrid:board=rp2040", 2, "does not have a place with board=rp2040", "tags of its places"),
    Bad("labgrid:bare-1", 2, "place bare-1 has no serial line: no NetworkS", "`labgrid-client"),
    Bad("labgrid:held-1", 1, "place held-1 is held by bench/bob", "--on labgrid:name=held-1 waits"),
)
MORE = (
    Bad("labgrid:shelf=c", 2, "place gone-1 has no serial line: no NetworkS", "`labgrid-client"),
    Bad("labgrid:two-1", 2, "place two-1 has several serial lines: first, second", "the place's"),
    Bad("labgrid:lost-1", 2, "no NetworkSerialPort named uart", "`labgrid-client -v resources`"),
)


@pytest.mark.parametrize(
    "bad",
    [*BAD, *(pytest.param(each, marks=pytest.mark.long) for each in MORE)],
    ids=lambda bad: bad.on,
)
def test_bad_input(cmbuild: Commands, lab: Coordinator, bad: Bad) -> None:
    result = replace(cmbuild, environment=lab.variables)(*RUN, bad.on)
    first, second = result.stderr.splitlines()
    assert (result.exit_code, first[:7]) == (bad.exit_code, "error: "), result.stderr
    assert bad.error in first
    assert second.startswith(f"  try: {bad.hint}")


def test_no_coordinator(cmbuild: Commands) -> None:
    client = replace(cmbuild, environment={"LG_COORDINATOR": "127.0.0.1:1"})
    result = client(*RUN, "labgrid:pico-1")
    first, second = result.stderr.splitlines()
    assert (result.exit_code, first) == (
        1,
        "error: no labgrid coordinator responds at 127.0.0.1:1",
    )
    assert "LG_COORDINATOR=HOST:PORT" in second


def test_a_board_that_is_only_simulated(cmbuild: Commands) -> None:
    result = cmbuild("run", NETWORK, "--board", "corstone300", "--on", "labgrid:free-1")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: models cannot run on a real corstone300: ")


@pytest.mark.long
def test_a_coordinator_that_is_lost_while_a_run_waits(cmbuild: Commands, tmp_path: Path) -> None:
    place = Place("pico-1", serial(1), {"board": "rp2350"})
    with coordinator(tmp_path / "lab", place) as rack:
        rack.client("-p", "pico-1", "acquire", user="bob")
        client = replace(cmbuild, environment=rack.variables)
        run = client.start(*RUN, "labgrid:board=rp2350")
        until(lambda: rack.client("reservations").strip())
        rack.process.kill()
        _, lines = run.communicate()
    assert run.returncode == 1
    assert f"error: no labgrid coordinator responds at {rack.address}\n" in lines


@dataclass(frozen=True)
class Rack:
    """Two boards, of which only the first can be switched off and on.

    Attributes:
        client: commands of its user.
    """

    coordinator: Coordinator
    boards: tuple[RackBoard, RackBoard]
    client: Commands

    def start(self, name: str, *words: str):
        """A run in a build folder of its own."""
        return self.client.start(*RUN, *words, "--build-dir", name)


@contextmanager
def rack_of_two(folder: Path, cmbuild: Commands) -> Iterator[Rack]:
    with ExitStack() as stack:
        boards = [stack.enter_context(RackBoard(folder / f"pico-{n}")) for n in (1, 2)]
        power = stack.enter_context(switch(boards))
        port = {"NetworkPowerPort": {"model": "simplerest", "host": power, "index": "0"}}
        places = [
            Place(
                f"pico-{n}",
                {**serial(board.port), **(port if n == 1 else {})},
                {"board": "rp2350", "volume": str(board.volume)},
            )
            for n, board in enumerate(boards, 1)
        ]
        at_work = stack.enter_context(coordinator(folder / "lab", *places))
        yield Rack(at_work, (boards[0], boards[1]), replace(cmbuild, environment=at_work.variables))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_rack(cmbuild: Commands, tmp_path: Path) -> None:
    with rack_of_two(tmp_path, cmbuild) as rack:
        _three_share_two_boards(rack)
        _a_board_that_hangs_is_power_cycled(rack)
        _a_board_that_hangs_is_left_out(rack)
        _a_killed_run_leaves_the_rack_clean(rack)
        _an_interrupted_run_leaves_the_rack_clean(rack)


def _is_clean(rack: Rack) -> bool:
    places = [rack.coordinator.holder(name) for name in ("pico-1", "pico-2")]
    return places == [None, None] and not rack.coordinator.client("reservations").strip()


def _three_share_two_boards(rack: Rack) -> None:
    runs = [rack.start(f"build-{n}", "labgrid:board=rp2350", "--json") for n in range(3)]
    texts = [run.communicate() for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0], texts
    assert all('"verified": true' in document for document, _ in texts)
    used = {match[0] for text, _ in texts if (match := re.search(r"labgrid's pico-\d", text))}
    assert used == {"labgrid's pico-1", "labgrid's pico-2"}
    assert any("waiting for a place with board=rp2350" in lines for _, lines in texts)
    assert _is_clean(rack)


def _a_board_that_hangs_is_power_cycled(rack: Rack) -> None:
    board = rack.boards[0]
    board.hang()
    result = rack.client(*RUN, "labgrid:pico-1")
    assert result.exit_code == 0, result.stderr
    assert "pico-1 is power-cycled" in result.stdout + result.stderr
    assert board.cycles == 1


def _a_board_that_hangs_is_left_out(rack: Rack) -> None:
    rack.boards[1].hang()
    rack.coordinator.client("-p", "pico-1", "acquire", user="bob")
    run = rack.start("build-left-out", "labgrid:board=rp2350")
    until(lambda: rack.coordinator.holder("pico-2"))
    time.sleep(8)  # it looks for 3 s, and is then left out
    rack.coordinator.client("-p", "pico-1", "release", user="bob")
    text, lines = run.communicate()
    assert run.returncode == 0, lines
    assert "place pico-2 cannot be power-cycled: no power port" in text + lines
    assert "pico-2 is left out: " in text + lines
    assert "hardware at labgrid's pico-1" in text
    assert _is_clean(rack)


def _a_killed_run_leaves_the_rack_clean(rack: Rack) -> None:
    run = rack.start("build-killed", "labgrid:pico-1", "-n", "5000")
    until(lambda: rack.coordinator.holder("pico-1"))
    run.kill()
    run.communicate()
    until(lambda: _is_clean(rack), seconds=20)
    rack.coordinator.client("-p", "pico-1", "acquire", user="bob")
    queued = rack.start("build-killed", "labgrid:name=pico-1")
    until(lambda: rack.coordinator.client("reservations").strip())
    queued.kill()
    queued.communicate()
    rack.coordinator.client("-p", "pico-1", "release", user="bob")
    until(lambda: _is_clean(rack), seconds=20)
    assert rack.client(*RUN, "labgrid:pico-1").exit_code == 0


def _an_interrupted_run_leaves_the_rack_clean(rack: Rack) -> None:
    run = rack.start("build-interrupted", "labgrid:name=pico-1", "-n", "5000")
    until(lambda: rack.coordinator.holder("pico-1"))
    run.send_signal(2)
    run.communicate()
    assert run.returncode == 130
    assert _is_clean(rack)
