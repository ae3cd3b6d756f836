"""A stand-in for Arm's FVPs: strict about its arguments, and able to misbehave.

FAKE_FVP says how it behaves: run (the default: lets QEMU execute the image), status (does, and ends
with 1), hang, crash, silent, limit (ends as when its time limit has come).
"""

from __future__ import annotations

import argparse
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

GREETING = "telnetterminal0: Listening for serial connection on port 5000"
LONGEST_COMMAND_LINE = 80

# Parameters as Arm's public documents and examples name them.
_CPU = {
    "semihosting-enable",
    "semihosting-cwd",
    "semihosting-cmd_line",
    "semihosting-heap_base",
    "semihosting-heap_limit",
    "semihosting-stack_base",
    "semihosting-stack_limit",
    "CFGITCMSZ",
    "CFGDTCMSZ",
    "INITSVTOR",
    "MPU_S",
}
_BOARD = {
    "uart0.out_file",
    "uart0.shutdown_on_eot",
    "uart0.unbuffered_output",
    "telnetterminal0.start_telnet",
    "visualisation.disable-visualisation",
}


@dataclass(frozen=True)
class Model:
    """A platform.

    Attributes:
        cpu, board: prefixes of parameters.
        others: whole names of parameters.
        headless: parameters that must be 1 on a machine without a display.
        vectors: where the core looks for its vectors, unless it is told otherwise.
        loads: options with which QEMU starts an image for it.
    """

    cpu: str
    board: str
    others: Collection[str]
    headless: Collection[str]
    vectors: int
    loads: Sequence[str]

    @property
    def parameters(self) -> set[str]:
        return {
            *(f"{self.cpu}.{name}" for name in _CPU),
            *(f"{self.board}.{name}" for name in _BOARD),
            *self.others,
        }


def main(model: Model) -> None:
    values, options = _parse(model)
    behaviour = os.environ.get("FAKE_FVP", "run")
    if behaviour == "hang":
        print(GREETING, flush=True)
        time.sleep(600)
    elif behaviour == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif behaviour == "limit":
        print(GREETING, "Info: /OSCI/SystemC: Simulation stopped by user.", sep="\n")
    elif behaviour in ("run", "status"):
        _execute(model, values, options)
        sys.exit(behaviour == "status")


def _parse(model: Model) -> tuple[dict[str, str], argparse.Namespace]:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("-C", "--parameter", action="append", default=[])
    parser.add_argument("-a", "--application", required=True)
    parser.add_argument("--timelimit", type=int, required=True)
    parser.add_argument("--stat", action="store_true")
    options = parser.parse_args()
    values = dict(text.split("=", 1) for text in options.parameter)
    for name in values:
        if name not in model.parameters:
            sys.exit(f"Error: parameter {name} not found")
    if values.get(f"{model.cpu}.semihosting-enable") != "1":
        sys.exit("Error: an image with semihosting would hang")
    if len(values.get(f"{model.cpu}.semihosting-cmd_line", "")) > LONGEST_COMMAND_LINE:
        sys.exit("Error: the semihosting command line would be cut off")
    for name in model.headless:
        if values.get(name) != "1":
            sys.exit("Error: cannot open display")
    vectors = {int(text, 0) for name, text in values.items() if "INITSVTOR" in name}
    if len(vectors) > 1:
        sys.exit("Error: core and subsystem disagree about the vectors")
    if not _begins(Path(options.application), vectors.pop() if vectors else model.vectors):
        sys.exit("Error: no vectors where the core looks for them")
    return values, options


def _begins(image: Path, address: int) -> bool:
    """Whether a PT_LOAD segment of a 32-bit ELF file does."""
    data = image.read_bytes()
    (table,) = struct.unpack_from("<I", data, 28)
    size, count = struct.unpack_from("<2H", data, 42)
    starts = range(table, table + size * count, size)
    return any(struct.unpack_from("<I4xI", data, start) == (1, address) for start in starts)


def _execute(model: Model, values: dict[str, str], options: argparse.Namespace) -> None:
    print(GREETING, flush=True)
    image = options.application
    subprocess.run(
        [
            *("qemu-system-arm", "-M", "mps3-an547"),
            *(word.format(image=image) for word in model.loads),
            *("-display", "none", "-monitor", "none", "-serial", "none"),
            *("-semihosting-config", "enable=on,target=native"),
        ],
        cwd=values[f"{model.cpu}.semihosting-cwd"],
        timeout=options.timelimit,
        check=False,
    )
    print("Info: /OSCI/SystemC: Simulation stopped by user.")
