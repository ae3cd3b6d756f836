#!/usr/bin/env python3
"""Mixes of precisions that needs choose, beside the best of all mixes.

    python benchmarks/needs.py [--board NAME] [--each N] [NETWORK]...

Every network of needy_networks.py is built for needs that lie between what its programs of one
type have, alone and together, and for some that no program meets; with `--each N`, for N of them,
others for the next network. Then the programs of all mixes that could be cheaper are exported and
measured, the cheapest first, until one meets the same needs on the same samples: all that are
cheaper by the table of costs, and whose error, weights and arena by that table are at most 6 dB,
2 % and 30 % beyond the needs; where none is, those nearest to the needs. The chosen program then
computes 64 inputs that nothing has seen.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from cmbuild.display.mixture import MixResult
from cmbuild.errors import CmbuildError
from cmbuild.mixing.failure import NeedsNotMet, amount
from cmbuild.mixing.search import MixBounds
from cmbuild.mixing.settling import settled
from cmbuild.mixing.table import Mix, MixTable
from cmbuild.mixing.trial import Trial
from cmbuild.mixing.trials import MixTrials
from cmbuild.pipeline.callback import Callback
from cmbuild.pipeline.needs import Needs
from cmbuild.pipeline.options import compose
from cmbuild.pipeline.request import BuildRequest
from cmbuild.pipeline.session import Session
from cmbuild.pipeline.stages.stage import Stage
from cmbuild.tasks.run import run as perform
from cmbuild.verify.fidelity import OutputError, top_1
from cmcompiler import api
from cmcompiler.frontend.precision import NIBBLES, SHORT

NETWORKS = Path(__file__).with_name("needy_networks.py")
sys.path.insert(0, str(NETWORKS.parent))
networks: Any = importlib.import_module("needy_networks")

_DROP = "1%"

_TOGETHER = 16
"""Programs that one process exports."""


@dataclass(frozen=True)
class Comparison:
    """The mix that needs choose for a network, beside the best of all mixes.

    Attributes:
        layers: that have a choice.
        mixes: of these.
        compared: programs that were exported to find the best, of so many candidates.
        unseen: each need on inputs that nothing has seen, in words.
        is_met: whether the chosen program meets them, on samples that did not choose.
        excess: of the chosen program, and the least of those that were exported, on those samples.
        kept: whether on those that nothing has seen, too.
    """

    network: str
    needs: str
    layers: int
    mixes: int
    chosen: Trial
    tried: int
    best: Trial | None
    compared: int
    candidates: int
    unseen: str
    is_met: bool
    kept: bool
    excess: tuple[float, float]

    @property
    def over(self) -> float:
        """A share; infinite if the best meets needs that the chosen one does not; how much further
        from them the chosen one is than the nearest if none does.
        """
        if self.best is None:
            return self.excess[0] - self.excess[1]
        return self.chosen.cycles / self.best.cycles - 1 if self.is_met else math.inf


class Comparer:
    """Compares what needs choose with the best of all mixes, for one network."""

    def __init__(self, session: Session, network: str, board: str, folder: Path) -> None:
        self._session, self._network = session, network
        self._request = compose(
            BuildRequest, model=f"{NETWORKS}:{network}", board=board, build_dir=folder
        )
        self._made = getattr(networks, network)()

    def comparisons(self, first: int, each: int | None) -> Iterator[Comparison]:
        """Comparisons for `each` of the network's needs, from `first` on in a circle; None: all."""
        trials = self._trials(Needs(snr=1.0), None)
        asked = list(self._needs(trials, trials.table()))
        for index in range(len(asked) if each is None else each):
            yield self._compared(*asked[(first + index) % len(asked)])

    def _needs(self, trials: MixTrials, table: MixTable) -> Iterator[tuple[Needs, int | None]]:
        """Needs between those of programs of one type; the last one is out of reach."""
        plain = trials.trial(table.plain)
        short, narrow = (trials.trial(_everywhere(table, kind)) for kind in (SHORT, NIBBLES))
        middle = round((plain.choosing.snr_db + short.choosing.snr_db) / 2)
        little = round((plain.choosing.snr_db + middle) / 2)
        lower = round(narrow.choosing.snr_db + 2)
        size = str(plain.flash - (plain.weights - narrow.weights) // 3)
        ram = (plain.arena + short.arena) // 2
        yield Needs(snr=middle), None
        yield Needs(flash_budget=size), None
        yield Needs(snr=little), ram
        yield Needs(snr=lower, flash_budget=size), None
        yield Needs(flash_budget=size), plain.arena
        yield Needs(snr=lower, flash_budget=size), ram
        if plain.choosing.drop is not None:
            yield Needs(accuracy_drop=_DROP), None
            yield Needs(accuracy_drop=_DROP, flash_budget=size), None
            yield Needs(accuracy_drop=_DROP), plain.arena
            yield Needs(snr=little, accuracy_drop=_DROP), None
            yield Needs(snr=lower, accuracy_drop=_DROP, flash_budget=size), ram
        yield Needs(snr=middle, flash_budget=str(narrow.flash - 256)), None

    def _compared(self, needs: Needs, ram: int | None) -> Comparison:
        trials, table, result, mix = self._chosen(needs, ram)
        chosen = trials.trial(mix)
        mixes = list(product(*table.choices))
        candidates = self._candidates(table, mixes, trials, needs, ram)
        if result.met:
            candidates = [each for each in candidates if each[0] < chosen.cycles]

        def excess(trial: Trial) -> float:
            return max(
                trial.excess(needs, ram, quality, 0.0)
                for quality in (trial.choosing, trial.judging)
            )

        best, compared = (chosen if result.met else None), 0
        remaining = iter(candidates)
        while batch := list(islice(remaining, _TOGETHER)):
            if best is not None and batch[0][0] > best.cycles:
                break
            trials.prepare([mix for _, mix in batch])
            for trial in (trials.trial(mix) for _, mix in batch):
                compared += 1
                if not excess(trial) and (best is None or trial.cycles < best.cycles):
                    best = trial
        unseen, kept = self._unseen(chosen, needs, ram)
        return Comparison(
            network=self._network,
            needs=" ".join(_words(needs, ram)),
            layers=sum(len(choices) > 1 for choices in table.choices),
            mixes=len(mixes),
            chosen=chosen,
            tried=result.tried,
            best=best,
            compared=compared,
            candidates=len(candidates),
            unseen=unseen,
            is_met=result.met,
            kept=kept,
            excess=(excess(chosen), min(map(excess, trials.tried.values()))),
        )

    def _chosen(self, needs: Needs, ram: int | None) -> tuple[MixTrials, MixTable, MixResult, Mix]:
        trials = self._trials(needs, ram)
        table = trials.table()
        request = self._asking(needs, ram)
        try:
            result = settled(request, self._session.pipeline, self._perform).source.mix
        except NeedsNotMet as error:
            result = error.result
        assert result is not None
        kinds = {part.layer: part.precision for part in result.parts}
        paths = [part.path for part in trials.parts.parts]
        mix = tuple(kinds.get(path, "8w8a") for path in paths)
        return trials, table, result, mix

    def _candidates(
        self,
        table: MixTable,
        mixes: Sequence[Mix],
        trials: MixTrials,
        needs: Needs,
        ram: int | None,
    ) -> list[tuple[float, Mix]]:
        """Cycles and mixes that may meet the needs, the cheapest first; if there are none, those
        that are nearest by the table.
        """
        plain = trials.trial(table.plain)
        limits = MixBounds(
            noise=None if needs.snr is None else 10 ** ((6 - needs.snr) / 10),
            weights=None
            if needs.flash is None
            else round(1.02 * (needs.flash - plain.flash + plain.weights)),
            arena=None if ram is None else round(1.3 * ram),
        )
        costs = [(table.cost(mix), mix) for mix in mixes]
        within = [(cost.cycles, mix) for cost, mix in costs if limits.excess(cost) == 0]
        if within:
            return sorted(within)
        costs.sort(key=lambda each: limits.excess(each[0]))
        return [(cost.cycles, mix) for cost, mix in costs[:_TOGETHER]]

    def _unseen(self, trial: Trial, needs: Needs, ram: int | None) -> tuple[str, bool]:
        source = trial.request.source
        export = self._session.pipeline.export(
            source, self._session.pipeline.board(trial.request.place.board).cpu
        )
        compiled = api.load(export.entry.folder / "model.pte")
        inputs = self._made.unseen
        with torch.no_grad():
            real = [tree_leaves(self._made.module(each)) for each in inputs]
        made = list(api.reference(compiled, [(each.numpy(),) for each in inputs]))
        stacks = [
            (np.stack([row[k].numpy() for row in real]), np.stack([row[k] for row in made]))
            for k in range(len(real[0]))
        ]
        errors = [OutputError.between(exact, stored) for exact, stored in stacks]
        noise = tuple(each.noise / each.signal for each in errors)
        drop = None
        if needs.drop is not None:
            labels = self._made.unseen_labels.numpy()
            before, after = (top_1(stack, labels) for stack in stacks[0])
            assert before is not None and after is not None
            drop = max(0.0, before - after)
        quality = replace(trial.judging, noise=noise, drop=drop, samples=len(inputs))
        outcomes = trial.outcomes(needs, ram, quality)
        return ", ".join(amount(each, each.has) for each in outcomes), all(
            each.met for each in outcomes
        )

    def _trials(self, needs: Needs, ram: int | None) -> MixTrials:
        return MixTrials(self._session.pipeline, self._asking(needs, ram), self._perform)

    def _asking(self, needs: Needs, ram: int | None) -> BuildRequest:
        budget = None if ram is None else str(ram)
        planning = replace(self._request.planning, ram_budget=budget)
        source = replace(self._request.source, needs=needs)
        return replace(self._request, source=source, planning=planning)

    def _perform(self, stages: Sequence[Stage]) -> None:
        perform(self._session, stages, [], 1)
        if self._session.failures.first is not None:
            raise self._session.failures.first


def _everywhere(table: MixTable, kind: str) -> Mix:
    return tuple(kind if kind in choices else "8w8a" for choices in table.choices)


def _words(needs: Needs, ram: int | None) -> Iterator[str]:
    for option, value in (
        ("--snr", None if needs.snr is None else f"{needs.snr:g}"),
        ("--accuracy-drop", needs.accuracy_drop),
        ("--flash-budget", needs.flash_budget),
        ("--ram-budget", ram),
    ):
        if value is not None:
            yield f"{option} {value}"


def _row(each: Comparison) -> tuple[str, ...]:
    return (
        each.network,
        f"{each.layers}",
        f"{each.mixes:,}",
        f"`{each.needs}`",
        f"{each.chosen.cycles:,}" if each.is_met else "none",
        "none" if each.best is None else f"{each.best.cycles:,}",
        f"{each.over:.1%}",
        f"{each.tried}",
        f"{each.compared} of {each.candidates}",
        each.unseen + ("" if each.kept or not each.is_met else " **missed**"),
    )


_HEADER = (
    *("network", "layers", "mixes", "needs", "cycles", "best of all", "over"),
    *("tried", "exported for the best", "unseen"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--board", default="rp2350")
    parser.add_argument("--each", type=int, metavar="N", help="needs of each network")
    parser.add_argument("networks", nargs="*")
    options = parser.parse_args()
    print("| " + " | ".join(_HEADER) + " |")
    print("| --- |" + " ---: |" * (len(_HEADER) - 1))
    most, missed = 0.0, 0
    for index, network in enumerate(options.networks or networks.NAMES):
        with (
            tempfile.TemporaryDirectory() as folder,
            Session(Callback(None), Path(folder) / "logs") as session,
        ):
            try:
                comparer = Comparer(session, network, options.board, Path(folder))
                for each in comparer.comparisons(index * (options.each or 0), options.each):
                    print("| " + " | ".join(_row(each)) + " |", flush=True)
                    most, missed = max(most, each.over), missed + (each.is_met and not each.kept)
            except CmbuildError as error:
                print(f"{network}: {error.message}", flush=True)
    print(f"\nat most {most:.1%} over the best; {missed} not met on unseen inputs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
