"""Slices of mutants on several processes, the accepted ones in batches on native code and on
simulators.
"""

from __future__ import annotations

import gc
import multiprocessing
import random
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from tempfile import mkdtemp

from harness.examples import Example
from harness.runtime import case_of, first_mistake

from cmbuild.conformance.harness import LOG, KernelHarness, Stopped
from cmcompiler.importer.suffixes import PROGRAMS
from cmcompiler.isa import Isa
from cmcompiler.plan.plan import Plan
from cmcompiler.plan.planner import make_plan
from fuzz.corpus import Corpus
from fuzz.trial import Outcome, try_program
from fuzz.witness import Witness

SLICE = 10_000
"""Mutants of one process. Each slice starts from the same programs and adds what it learns."""

BATCH = 64
"""Accepted programs that run in one start of an image."""

SAMPLE = 8
"""One batch in so many also runs on a simulator."""

PATIENCE = 400
"""Seconds after which a process without progress has hung; a batch may take 300."""

MOST_SIMULATED = 256 << 10
"""Bytes of an arena and of constants; simulated boards have less memory than this computer."""

Accepted = tuple[bytes, int, tuple[Example, Plan]]
"""A program, the seed of its inputs, and one of its methods with its plan."""


PLACES = {isa: "native" if isa is Isa.SCALAR else isa.label for isa in Isa}
"""Where the plans for an instruction set run."""

RAN = ("differs on", *PLACES.values())
"""How the signatures of findings begin that were made by running a program."""


@dataclass(frozen=True)
class Finding:
    """A program that did not end as it should.

    Attributes:
        seed: that its inputs were made from.
        isa: where it ran; SCALAR is native code.
    """

    signature: str
    details: str
    data: bytes
    seed: int
    isa: Isa = Isa.SCALAR


@dataclass
class Report:
    """What became of mutants."""

    kinds: Counter[str] = field(default_factory=Counter)
    findings: dict[str, Finding] = field(default_factory=dict)

    @property
    def mutants(self) -> int:
        return sum(self.kinds[kind] for kind in ("refused", "large", "accepted", "crash"))

    def add(self, other: Report) -> None:
        self.kinds += other.kinds
        self.findings = {**other.findings, **self.findings}

    def find(self, finding: Finding) -> None:
        self.kinds["finding"] += 1
        self.findings.setdefault(finding.signature, finding)


@dataclass
class Slice:
    """Some of a campaign's mutants.

    Attributes:
        is_complete: it tried all of them.
    """

    number: int
    report: Report = field(default_factory=Report)
    is_complete: bool = False


@dataclass(frozen=True)
class Campaign:
    """
    Attributes:
        harnesses: by instruction set: this computer for SCALAR, and perhaps simulators.
        folder: for the files of each batch.
    """

    harnesses: Mapping[Isa, KernelHarness]
    folder: Path
    seed: int
    workers: int = 2
    formats: tuple[str, ...] = PROGRAMS
    size: int = SLICE

    def slices(self, numbers: Iterable[int], deadline: float = float("inf")) -> Iterator[Slice]:
        """Slices as they end: the same mutants from the same seed and number.

        Args:
            deadline: on the monotonic clock; what has not ended by then ends early.
        """
        corpus, left = Corpus.of_tests(self.formats), iter(numbers)
        running: dict[Connection, _Running] = {}
        try:
            while True:
                while len(running) < self.workers and time.monotonic() < deadline:
                    number = next(left, None)
                    if number is None:
                        break
                    started = self._start(number, corpus, deadline)
                    running[started.pipe] = started
                if not running:
                    return
                wait(running, timeout=1)
                for pipe, process in list(running.items()):
                    if process.has_ended():
                        del running[pipe]
                        yield process.slice
        finally:
            for process in running.values():
                process.end()

    def _start(self, number: int, corpus: Corpus, deadline: float) -> _Running:
        context, witness = multiprocessing.get_context("fork"), Witness()
        here, there = context.Pipe(duplex=False)
        process = context.Process(
            target=self._slice, args=(number, corpus.copy(), deadline, witness, there)
        )
        process.start()
        there.close()
        return _Running(Slice(number), process, here, witness)

    def _slice(
        self, number: int, corpus: Corpus, deadline: float, witness: Witness, pipe: Connection
    ) -> None:
        """Sends a report after each batch, and at last whether all mutants were tried."""
        # What was made before lives as long as the process.
        gc.freeze()
        gc.set_threshold(50_000)
        chance, batch = random.Random(f"{self.seed} {number}"), 0
        accepted: list[Accepted] = []
        report = Report()
        for index in range(self.size):
            seed = number * self.size + index
            data = corpus.mutant(chance)
            witness.note(data, seed)
            outcome = try_program(data, seed)
            report.kinds[outcome.kind] += 1
            if outcome.kind == "crash":
                report.find(Finding(outcome.signature, outcome.details, data, seed))
            else:
                corpus.learn(outcome.signature, data)
            accepted += [(data, seed, example) for example in outcome.examples]
            if len(accepted) < BATCH and index + 1 < self.size:
                continue
            self._run_batch(number + batch, accepted, report, witness)
            pipe.send(report)
            accepted, report, batch = [], Report(), batch + 1
            if time.monotonic() > deadline:
                break
        pipe.send(index + 1 == self.size)

    def _run_batch(
        self, number: int, accepted: Sequence[Accepted], report: Report, witness: Witness
    ) -> None:
        isas = [isa for isa in self.harnesses if isa is not Isa.SCALAR]
        turn, rest = divmod(number, SAMPLE)
        chosen = [isas[turn % len(isas)]] if isas and rest == 0 else []
        for isa in (Isa.SCALAR, *chosen):
            batch = planned_for(isa, accepted)
            report.kinds[f"on {PLACES[isa]}"] += len(batch)
            witness.tick()
            for finding in self.run(batch, isa):
                report.find(finding)

    def run(self, accepted: Sequence[Accepted], isa: Isa = Isa.SCALAR) -> Iterator[Finding]:
        """Runs examples, planned for an instruction set, and compares them with their reference."""
        left = list(accepted)
        while left:
            cases = [case_of(plan, example) for _, _, (example, plan) in left]
            folder = Path(mkdtemp(dir=self.folder))
            try:
                results = self.harnesses[isa].run(cases, folder, timeout=300)
            except Stopped as error:
                if error.case >= len(left):
                    raise
                data, seed, _ = left.pop(error.case)
                signature = f"{PLACES[isa]}: {_cause(folder, error)}"
                yield Finding(signature, str(error), data, seed, isa)
                continue
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            for (data, seed, (example, _)), case, result in zip(left, cases, results, strict=True):
                mistake = first_mistake(case, example, result)
                if mistake is not None:
                    signature = f"differs on {PLACES[isa]}: {example.name[:60]}"
                    yield Finding(signature, mistake, data, seed, isa)
            return


@dataclass
class _Running:
    """A slice in its process."""

    slice: Slice
    process: ForkProcess
    pipe: Connection
    witness: Witness
    progress: int = 0
    since: float = field(default_factory=time.monotonic)

    def has_ended(self) -> bool:
        """Takes what the process has sent; it fails in the mutant it is at if it ends early."""
        try:
            while self.pipe.poll():
                message = self.pipe.recv()
                if isinstance(message, Report):
                    self.slice.report.add(message)
                else:
                    self.slice.is_complete = message
                    self.end()
                    return True
        except EOFError:
            return self._failed("the process died", "without a word")
        now = time.monotonic()
        if self.witness.progress != self.progress:
            self.progress, self.since = self.witness.progress, now
        return now - self.since > PATIENCE and self._failed("hangs", "no answer")

    def _failed(self, signature: str, details: str) -> bool:
        self.slice.report.find(Finding(signature, details, *self.witness.mutant))
        self.end()
        return True

    def end(self) -> None:
        self.process.kill()
        self.process.join()


def planned_for(isa: Isa, accepted: Sequence[Accepted]) -> list[Accepted]:
    """With plans for an instruction set, those that fit into a simulated board if that runs it."""
    if isa is Isa.SCALAR:
        return list(accepted)
    plans = [make_plan(example.graph, isa) for _, _, (example, _) in accepted]
    return [
        (data, seed, (example, plan))
        for plan, (data, seed, (example, _)) in zip(plans, accepted, strict=True)
        if plan.arena_bytes + len(plan.constants) <= MOST_SIMULATED
    ]


def _cause(folder: Path, error: Stopped) -> str:
    """The line of the sanitizer."""
    log = (folder / LOG).read_text(errors="replace") if (folder / LOG).exists() else ""
    lines = [line for line in log.splitlines() if "runtime error" in line or "ERROR: " in line]
    return (lines[0].split("/")[-1] if lines else str(error))[:100]


def fails_alike(finding: Finding, campaign: Campaign, data: bytes) -> bool:
    """Whether a program ends as the finding does."""
    outcome: Outcome = try_program(data, finding.seed)
    if outcome.kind == "crash":
        return outcome.signature == finding.signature
    if not finding.signature.startswith(RAN):
        return False
    accepted = [(data, finding.seed, example) for example in outcome.examples]
    again = campaign.run(planned_for(finding.isa, accepted), finding.isa)
    kind = finding.signature.partition(":")[0]
    return any(other.signature.startswith(kind) for other in again)
