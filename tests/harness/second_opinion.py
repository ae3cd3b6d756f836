"""Hot Helium loops: their cycles by LLVM's scheduling models, and by the model of the Cortex-M55.

tests/data/second_opinion.json is written by benchmarks/second_opinion.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from cmbuild.cycles.cores.cortex_m55 import CortexM55
from cmbuild.cycles.decoding import decode
from cmbuild.cycles.instruction import Instruction
from harness.sources import ROOT

DATA = ROOT / "tests" / "data" / "second_opinion.json"


@dataclass(frozen=True)
class Loop:
    """Without the branch that closes it.

    Attributes:
        llvm: cycles of an iteration, by core.
    """

    function: str
    instructions: tuple[Instruction, ...]
    llvm: dict[str, float]

    @property
    def cycles(self) -> float:
        """Of an iteration in the steady state, by the model of the Cortex-M55."""
        model, times = CortexM55(), []
        for _ in range(10):
            for instruction in self.instructions:
                model.issue(instruction, False, None)
            times.append(model.clock)
        return (times[9] - times[1]) / 8

    @property
    def difference(self) -> float:
        """From LLVM's Cortex-M55, in percent."""
        return 100 * (self.cycles / self.llvm["cortex-m55"] - 1)


def loops() -> Iterator[Loop]:
    for document in json.loads(DATA.read_text()):
        yield Loop(
            document["function"], tuple(_decoded(document["instructions"])), document["llvm"]
        )


def _decoded(lines: list[str]) -> Iterator[Instruction]:
    address = 0
    for line in lines:
        size, _, text = line.partition(" ")
        mnemonic, _, operands = text.partition(" ")
        yield decode(address, int(size), mnemonic, operands)
        address += int(size)
