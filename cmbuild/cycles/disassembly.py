"""The instructions of an image, by objdump."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cmbuild.cycles.decoding import UnknownInstruction, decode
from cmbuild.cycles.instruction import Instruction
from cmbuild.process import Processes

_LINE = re.compile(r"\s*([0-9a-f]+):\t([0-9a-f ]+)\t(\S+)[ \t]*([^;@\n]*)", re.MULTILINE)
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction as objdump prints it.

    Attributes:
        size: bytes.
    """

    size: int
    mnemonic: str
    operands: str


@dataclass(frozen=True, slots=True)
class Disassembly:
    """Instructions by address, decoded as they are asked for."""

    lines: Mapping[int, Line]
    _decoded: dict[int, Instruction] = field(default_factory=dict)

    def block(self, address: int, count: int) -> Iterator[Instruction]:
        """`count` instructions from an address on.

        Raises:
            UnknownInstruction: one of them.
        """
        for _ in range(count):
            instruction = self._instruction(address)
            yield instruction
            address = instruction.end

    def _instruction(self, address: int) -> Instruction:
        if address not in self._decoded:
            line = self.lines.get(address)
            if line is None:
                raise UnknownInstruction(f"no code at {address:#x}")
            self._decoded[address] = decode(address, line.size, line.mnemonic, line.operands)
        return self._decoded[address]


def disassemble(
    objdump: Path, image: Path, architecture: str | None, processes: Processes, log: Path
) -> Disassembly:
    """
    Args:
        architecture: see Core.
        log: gets the disassembly.

    Raises:
        ProcessFailed: objdump cannot read the image.
    """
    told = () if architecture is None else ("-m", architecture)
    processes.run([objdump, "-d", "-z", *told, image], log=log, timeout=_SECONDS)
    return parse(log.read_text(errors="replace"))


def parse(text: str) -> Disassembly:
    """objdump's text."""
    return Disassembly(
        {
            int(match[1], 16): Line(len(match[2].replace(" ", "")) // 2, match[3], match[4].strip())
            for match in _LINE.finditer(text)
        }
    )
