"""A rack on this computer: labgrid's own coordinator and exporter, and simulated boards."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TypeVar

import yaml

from harness.flashing import BootRom, make_volume
from harness.line import Terminal

TESTS = Path(__file__).parents[1]
BAUD = 921600
T = TypeVar("T")
PERSON = {"LG_HOSTNAME": "bench", "LG_USERNAME": "ada"}


class RackBoard:
    """An rp2350 behind a TCP port, as an exporter offers serial lines, and behind a switch.

    Attributes:
        port: of its serial line, on the loopback interface.
        volume: of its boot loader.
        is_flashed: whether it was ever flashed.
        cycles: how often it was switched on again.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self.volume = make_volume(folder / "RP2350")
        self.cycles = 0
        self._rom = BootRom(self.volume)
        self._terminal = Terminal()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._gone = threading.Event()
        self._chip: subprocess.Popen[bytes] | None = None
        self._threads = [threading.Thread(target=work) for work in (self._carry, self._boot)]

    def __enter__(self) -> RackBoard:
        self._rom.start()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._gone.set()
        self._rom.end()
        for thread in self._threads:
            thread.join()
        self.switch(False)
        self._listener.close()
        self._terminal.close()

    @property
    def is_flashed(self) -> bool:
        return self._rom.flashed is not None

    def hang(self) -> None:
        """Stops the core until the board is switched off."""
        assert self._chip is not None
        self._chip.send_signal(signal.SIGSTOP)

    def switch(self, on: bool) -> None:
        """Off: the core is gone. On: it runs what is in flash."""
        if on and self._chip is None and self.is_flashed:
            self._power()
            self.cycles += 1
        elif not on and self._chip is not None:
            self._chip.kill()
            self._chip.wait()
            self._chip = None

    def _boot(self) -> None:
        self._rom.join()
        if self._rom.flashed is not None:
            self._power()

    def _power(self) -> None:
        file = self._folder / "flashed.uf2"
        file.write_bytes(self._rom.flashed or b"")
        path = f"{TESTS}{os.pathsep}{os.pathsep.join(sys.path)}"
        words = [sys.executable, "-m", "harness.rp2350", file, self._terminal.port]
        self._chip = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": path})

    def _carry(self) -> None:
        """Between the board and whoever is connected; without anyone its bytes are lost."""
        client: socket.socket | None = None
        board = self._terminal.board
        while not self._gone.is_set():
            sources = [board, self._listener if client is None else client]
            for source in select.select(sources, [], [], 0.05)[0]:
                if source is self._listener:
                    client, _ = self._listener.accept()
                elif source is board:
                    data = os.read(board, 4096)
                    if client is not None:
                        with suppress(OSError):
                            client.sendall(data)
                elif client is not None:
                    with suppress(OSError):
                        if data := client.recv(4096):
                            os.write(board, data)
                            continue
                    client.close()
                    client = None
        if client is not None:
            client.close()


@contextmanager
def switch(boards: list[RackBoard]) -> Iterator[str]:
    """A power switch in the form of labgrid's `simplerest`; the template of its addresses."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _, index, value, *_ = (*self.path.split("/"), "")
            if value:
                boards[int(index)].switch(value == "1")
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"1")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/{{index}}/{{value}}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Place:
    """A place before the coordinator starts.

    Attributes:
        resources: of its exporter, by class.
    """

    name: str
    resources: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


def serial(port: int, **changes: object) -> dict[str, Mapping[str, object]]:
    """The resource of a serial line."""
    line = {"host": "127.0.0.1", "port": port, "speed": BAUD, "protocol": "raw"}
    return {"NetworkSerialPort": {**line, **changes}}


@dataclass
class Coordinator:
    """labgrid's coordinator, at work.

    Attributes:
        address: HOST:PORT.
        process: its own.
    """

    address: str
    process: subprocess.Popen[bytes]

    @property
    def variables(self) -> dict[str, str]:
        """Environment of its clients."""
        return {**PERSON, "LG_COORDINATOR": self.address}

    def client(self, *words: str, user: str = PERSON["LG_USERNAME"]) -> str:
        """What labgrid-client prints."""
        variables = {**os.environ, **self.variables, "LG_USERNAME": user}
        command = [sys.executable, "-m", "labgrid.remote.client", *words]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def holder(self, place: str) -> str | None:
        """Who holds a place."""
        for line in self.client("-p", place, "show").splitlines():
            key, _, value = line.strip().partition(": ")
            if key == "acquired":
                return None if value == "None" else value
        raise AssertionError(f"{place} is not shown")


@contextmanager
def coordinator(folder: Path, *places: Place) -> Iterator[Coordinator]:
    """A coordinator with places, and an exporter of their resources."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {
        place.name: {
            "aliases": [],
            "comment": "",
            "tags": dict(place.tags),
            "matches": [{"exporter": "rack", "group": place.name, "cls": "*"}],
        }
        for place in places
    }
    (folder / "places.yaml").write_text(yaml.safe_dump(document))
    resources = {place.name: dict(place.resources) for place in places if place.resources}
    (folder / "exporter.yaml").write_text(yaml.safe_dump(resources))
    server = [sys.executable, "-um", "labgrid.remote.coordinator", "-l", "127.0.0.1:0"]
    with started(folder, "coordinator", server) as process:
        log = folder / "coordinator.txt"
        line = until(lambda: [w for w in log.read_text().splitlines() if "listening on" in w])[0]
        address = line.rpartition(" ")[2]
        exporter = [sys.executable, "-um", "labgrid.remote.exporter", "-c", address]
        words = ["--name", "rack", "--hostname", "localhost", str(folder / "exporter.yaml")]
        with started(folder, "exporter", [*exporter, *words]):
            rack = Coordinator(address, process)
            wanted = sum(map(len, resources.values()))
            until(lambda: len(rack.client("resources").splitlines()) >= wanted)
            yield rack


@contextmanager
def started(folder: Path, name: str, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a folder, with a file there that gets what it prints."""
    with (folder / f"{name}.txt").open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def until(check: Callable[[], T], seconds: float = 120) -> T:
    """The first true answer."""
    deadline = time.monotonic() + seconds
    while not (answer := check()):
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.05)
    return answer
