"""What happens to boards of a rack that do not work, without a rack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cmbuild.catalog import find_board
from cmbuild.errors import CmbuildError, MissingTool, ProcessFailed, TimedOut
from cmbuild.hardware.conversation import NoGreeting, OtherImage
from cmbuild.hardware.port import PortLost
from cmbuild.hardware.rack.address import RackAddress
from cmbuild.hardware.rack.flashing import FlashChoice
from cmbuild.hardware.rack.lease import CannotCycle, NoneLeft
from cmbuild.hardware.rack.messages import HeldPlace
from cmbuild.launchers import rack
from cmbuild.launchers.base import ProperRun
from cmbuild.launchers.rack import CannotFlash, OtherSpeed, RackLine
from cmbuild.launchers.serial import SerialLine
from cmbuild.process import Processes

BAUD = 921600
DONE = ProperRun((), 1.0, Path("log"))
SILENT = NoGreeting(port="p", seconds=3, heard="silence", advice="", log="log")
LOST = PortLost(port="p", reason="gone")
SLOW = TimedOut(name="the board", seconds=60, log="log")


class FakeRack:
    """Places one after another, and what a run at each does, the last again and again.

    Attributes:
        cycled: names of the places that were switched off and on.
        notes: lines shown.
        flashing: what it comes to.
    """

    def __init__(self, speed: int = BAUD, **places: list[CmbuildError | ProperRun]) -> None:
        self._speed = speed
        self._runs = places
        self._names = list(places)
        self._can_cycle: tuple[str, ...] = ()
        self.cycled: list[str] = []
        self.notes: list[str] = []
        self.flashing: CmbuildError | None = None
        self._next()

    def with_power(self, *names: str) -> FakeRack:
        self._can_cycle = names
        return self

    def _next(self) -> None:
        if not self._names:
            raise NoneLeft(title="the rack")
        name = self._names.pop(0)
        self.place = HeldPlace(name, f"socket://{name}:1", self._speed, "localhost")

    def leave_out(self, reason: str) -> None:
        self.notes.append(f"{self.place.name} is left out: {reason}")
        self._next()

    def cycle(self) -> None:
        name = self.place.name
        if name not in self._can_cycle:
            raise CannotCycle(name=name, reason="no power port", log="log")
        self.cycled.append(name)

    def flash(self) -> str:
        if self.flashing is not None:
            raise self.flashing
        return "probe-rs"

    def run_at(self, port: str) -> ProperRun:
        runs = self._runs[port.removeprefix("socket://").partition(":")[0]]
        outcome = runs.pop(0) if len(runs) > 1 else runs[0]
        if isinstance(outcome, CmbuildError):
            raise outcome
        return outcome


Run = Callable[[FakeRack, str], ProperRun]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    def start(lab: FakeRack, address: str) -> ProperRun:
        @contextmanager
        def held(*_: object) -> Iterator[FakeRack]:
            yield lab

        monkeypatch.setattr(rack, "held", held)
        monkeypatch.setattr(rack, "flash_at", lambda *_, **__: lab.flash())
        monkeypatch.setattr(SerialLine, "run", lambda self, *_, **__: lab.run_at(self.port))
        board, note = find_board("rp2350"), lab.notes.append
        chosen = RackAddress.parse(address)
        line = RackLine(chosen, board, SerialLine(BAUD), FlashChoice(), note)
        return line.run(Processes(), tmp_path / "elf", tmp_path, timeout=1, log=tmp_path / "log")

    return start


def test_a_board_with_another_image_is_flashed(run: Run) -> None:
    lab = FakeRack(a=[OtherImage(port="p", found="x", image="y", log="z"), DONE])
    assert run(lab, "labgrid:a") is DONE
    assert lab.notes == ["a is flashed, by probe-rs"]


def test_a_board_that_hangs_is_power_cycled(run: Run) -> None:
    lab = FakeRack(a=[SLOW, DONE]).with_power("a")
    assert run(lab, "labgrid:a") is DONE
    assert lab.cycled == ["a"]
    assert lab.notes == [f"{SLOW.message}; a is power-cycled"]


def test_it_is_power_cycled_once(run: Run) -> None:
    lab = FakeRack(a=[LOST]).with_power("a")
    with pytest.raises(PortLost):
        run(lab, "labgrid:a")
    assert lab.cycled == ["a"]


def test_a_board_without_power_port_is_left_out(run: Run) -> None:
    lab = FakeRack(a=[LOST], b=[DONE])
    assert run(lab, "labgrid:board=rp2350") is DONE
    assert lab.notes[0].endswith("place a cannot be power-cycled: no power port")
    assert lab.notes[1:] == [f"a is left out: {LOST.message}"]


def test_no_board_is_left(run: Run) -> None:
    lab = FakeRack(a=[LOST], b=[SILENT])
    with pytest.raises(NoGreeting):
        run(lab, "labgrid:board=rp2350")


def test_an_image_that_hangs_everywhere_does_not_wear_out_the_rack(run: Run) -> None:
    lab = FakeRack(a=[SLOW], b=[SLOW], c=[DONE])
    with pytest.raises(TimedOut):
        run(lab, "labgrid:board=rp2350")


def test_a_silent_board_that_cannot_be_flashed(run: Run) -> None:
    lab = FakeRack(a=[SILENT])
    lab.flashing = MissingTool(tool="probe-rs")
    with pytest.raises(CannotFlash, match="silence, and cannot be flashed: probe-rs not found"):
        run(lab, "labgrid:a")


def test_a_board_whose_probe_fails_is_left_out(run: Run) -> None:
    lab = FakeRack(a=[SILENT], b=[DONE])
    lab.flashing = ProcessFailed(name="pyocd", outcome="failed", detail="no probe", log="log")
    assert run(lab, "labgrid:board=rp2350") is DONE
    assert lab.notes[-1].endswith("silence, and flashing it failed: pyocd failed: no probe")


def test_another_speed_is_refused(run: Run) -> None:
    lab = FakeRack(115200, a=[DONE])
    with pytest.raises(OtherSpeed, match="place a has 115,200 baud, rp2350's has 921,600"):
        run(lab, "labgrid:a")
