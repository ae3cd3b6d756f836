"""The cycles and bytes of each part of a plan."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cmbuild.boards.board import Board
from cmbuild.mixing.table import PartCost
from cmbuild.sizing.prediction import CoreCosts, known_costs, work_of_steps
from cmcompiler.emit.recording import constants_of_steps
from cmcompiler.frontend.job import ExportRecord
from cmcompiler.frontend.parts import ModelPart
from cmcompiler.ir.work import Work
from cmcompiler.isa import Isa

if TYPE_CHECKING:
    from cmcompiler.plan.plan import Plan, PlanStep

_INSTRUCTION = re.compile(r"#(\d+)$")
_UNKNOWN = Work(filled=2.0, outputs=40.0, calls=300.0)
"""Cycles of a kernel whose cost no core has."""

_CONVERSION = "change_scale"


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of work on a board.

    Attributes:
        core: whose prices they are: the board's, or another one with the same instruction set.
    """

    core: str
    costs: CoreCosts

    @classmethod
    def of(cls, board: Board, isa: Isa) -> Prices:
        cores = known_costs().cores
        own = cores.get(board.cpu)
        if own is not None and own.isa == isa.label:
            return cls(board.cpu, own)
        core = next(name for name, costs in cores.items() if costs.isa == isa.label)
        return cls(core, cores[core])

    def cycles(self, kernel: str, work: Work) -> float:
        return work.at(self.costs.prices_of(kernel) or _UNKNOWN)

    @property
    def conversion(self) -> float:
        """Cycles of an element that changes its scale."""
        return self.costs.kernels.get(_CONVERSION, _UNKNOWN).outputs

    def total(self, plan: Plan) -> int:
        return round(sum(self.cycles(*work) for work in work_of_steps(plan)))


@dataclass(frozen=True, slots=True)
class PricedPlan:
    """The steps of a plan by part.

    Attributes:
        parts: None for a part without steps of its own.
        kernels: that each part calls.
        rest: of what belongs to no part.
    """

    parts: tuple[PartCost, ...]
    kernels: tuple[tuple[str, ...], ...]
    rest: PartCost

    @classmethod
    def of(
        cls, plan: Plan, record: ExportRecord, parts: Sequence[ModelPart], prices: Prices
    ) -> PricedPlan:
        places = {part.path: index for index, part in enumerate(parts)}
        owners = _owners(plan.steps, record, places)
        constants = constants_of_steps(plan)
        cycles, weights = [0.0] * (len(parts) + 1), [0] * (len(parts) + 1)
        arena = [0] * (len(parts) + 1)
        kernels: list[list[str]] = [[] for _ in parts]
        for index, (work, owner) in enumerate(zip(work_of_steps(plan), owners, strict=True)):
            cycles[owner] += prices.cycles(*work)
            weights[owner] += constants[index]
            arena[owner] = max(arena[owner], plan.timeline[index].total)
            if owner >= 0:
                kernels[owner].append(plan.steps[index].kernel)
        called = [*map(frozenset, kernels), frozenset[str]()]
        costs = tuple(map(PartCost, cycles, weights, arena, called))
        return cls(costs[:-1], tuple(map(tuple, kernels)), costs[-1])


def _owners(
    steps: Sequence[PlanStep], record: ExportRecord, places: Mapping[str, int]
) -> list[int]:
    """The part of each step; -1 for none. A conversion belongs to what is next to it."""
    owners = []
    for step in steps:
        match = _INSTRUCTION.search(step.source)
        node = None if match is None else record.instructions.get(int(match[1]))
        site = None if node is None else record.call_sites.get(node)
        owners.append(-1 if site is None else places.get(site.module, -1))
    known = [index for index, owner in enumerate(owners) if owner >= 0]
    for index, step in enumerate(steps):
        if owners[index] < 0 and step.kernel.startswith("quantize"):
            owners[index] = next((owners[each] for each in known if each > index), -1)
        elif owners[index] < 0 and step.kernel.startswith("dequantize"):
            owners[index] = next((owners[each] for each in reversed(known) if each < index), -1)
    return owners
