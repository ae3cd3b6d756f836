"""Real boards, already flashed, over their serial port."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cmbuild.hardware.conversation import GREETING_SECONDS, Conversation
from cmbuild.hardware.port import find_port, open_port
from cmbuild.hardware.streams import Streams
from cmbuild.launchers.base import Launcher, ProperRun, conclude
from cmbuild.process import Completed, Processes


@dataclass(frozen=True, slots=True)
class SerialLine(Launcher):
    """A board at a serial port.

    Attributes:
        baud: bits a second.
        usb: vendor and product of the board's usual adapter: `2e8a:000c`.
        port: its name; found if None.
    """

    name = "serial"

    baud: int
    usb: Sequence[str] = ()
    port: str | None = None

    @property
    def title(self) -> str:
        return f"hardware at {self.port or 'a serial port'}"

    @property
    def provenance(self) -> str:
        return "measured on silicon"

    @property
    def seconds_per_byte(self) -> float:
        return 20 / self.baud  # ten bits each, and as much time again for answers and adapters

    @property
    def unit(self) -> str:
        return "cycles"

    def find(self) -> Path:
        """Raises NoPort, SeveralPorts."""
        return Path(self._name)

    @property
    def _name(self) -> str:
        return self.port or find_port(self.usb)

    def instructions(self, ticks: int) -> int:
        return ticks

    def hear(
        self,
        image: Path,
        log: Path,
        processes: Processes,
        seconds: float = GREETING_SECONDS,
    ) -> str:
        """Waits for the greeting of an image, which continues to greet; returns the port.

        Raises:
            NoPort, SeveralPorts, CannotOpen, PortLost, NoGreeting, OtherImage, Interrupted.
        """
        name = self._name
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as file, open_port(name, self.baud) as port:
            talk = Conversation(port, file, log, lambda: processes.is_ended)
            talk.check(talk.greeting(seconds), image)
        return name

    def run(
        self,
        processes: Processes,
        image: Path,
        folder: Path,
        *,
        timeout: float,
        log: Path,
        patience: float = GREETING_SECONDS,
    ) -> ProperRun:
        """
        Args:
            patience: seconds to wait for the board's greeting.

        Raises, in addition to those of every launcher:
            CannotOpen, PortLost, NoGreeting, OtherImage, Restarted.
        """
        name, start = self._name, time.monotonic()
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as file, open_port(name, self.baud) as port:
            talk = Conversation(port, file, log, lambda: processes.is_ended)
            greeting = talk.greeting(patience)
            talk.check(greeting, image)
            talk.serve(greeting, Streams(folder), timeout)
        completed = Completed((name,), 0, time.monotonic() - start, log)
        return conclude(f"the board at {name}", image, completed)
