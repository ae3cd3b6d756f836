"""Rounds of mutants on several processes, the accepted ones in batches on native code and on
simulators.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import struct
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import mkdtemp

from harness.calls import program_calling
from harness.examples import Example
from harness.golden import VARIABLE
from harness.operator_calls import operator_calls
from harness.program_file import write_program
from harness.programs import NAMES, program_bytes
from harness.runtime import case_of, first_mistake

from cmbuild.conformance.harness import LOG, KernelHarness, Stopped
from cmcompiler.errors import CompilerError
from cmcompiler.importer.suffixes import PROGRAMS, PTE, TFLITE
from cmcompiler.isa import Isa
from cmcompiler.plan.plan import Plan
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.program import Method, Program
from cmcompiler.pte.reader import read_program
from cmcompiler.tflite.reader import is_tflite
from fuzz.bytes_mutations import damaged
from fuzz.program_mutations import changed
from fuzz.tflite_mutations import tflite_mutant, tflite_seeds
from fuzz.trial import Outcome, try_program

CHUNK = 200
"""Mutants of one process, and of one batch."""

PATIENCE = 60 + CHUNK
"""Seconds after which a chunk that does not answer has hung."""

MOST_SEEDS = 3000

SAMPLE = 8
"""One chunk in so many also runs on a simulator."""

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
    """What became of the mutants so far."""

    kinds: Counter[str] = field(default_factory=Counter)
    findings: dict[str, Finding] = field(default_factory=dict)
    signatures: set[str] = field(default_factory=set)

    @property
    def mutants(self) -> int:
        return sum(self.kinds[kind] for kind in ("refused", "large", "accepted", "crash"))


def seeds(formats: Sequence[str] = PROGRAMS) -> list[bytes]:
    """The programs of the tests, a call of every operator, and the golden set where it is.

    Args:
        formats: suffixes of the files.
    """
    return [
        *(pte_seeds() if PTE in formats else ()),
        *(tflite_seeds() if TFLITE in formats else ()),
    ]


def pte_seeds() -> list[bytes]:
    found = [program_bytes(name) for name in NAMES]
    for operator, arguments in operator_calls().items():
        found.append(write_program(program_calling(operator, *arguments)))
    for file in sorted(Path(os.environ.get(VARIABLE, "/nonexistent")).glob("cases/*.zip")):
        with zipfile.ZipFile(file) as archive:
            data = archive.read("model.pte")
        if len(data) < 1 << 16 and "@" not in file.name:
            found.append(data)
    return found


def mutant(corpus: Sequence[bytes], chance: random.Random) -> bytes:
    """A changed program: mostly its meaning, else its bytes, or both."""
    data = chance.choice(corpus)
    if is_tflite(data):
        return tflite_mutant(data, chance)
    way = chance.random()
    if way < 0.7:
        first, second = _method(data), _method(chance.choice(corpus))
        if first is not None:
            # What the file has no field for is not a mutant.
            with suppress(struct.error):
                data = write_program(Program(0, (changed(first, second or first, chance),)))
    return damaged(data, chance) if way > 0.65 else data


def _method(data: bytes) -> Method | None:
    try:
        methods = read_program(data).methods
    except CompilerError:
        return None
    return next((method for method in methods if isinstance(method, Method)), None)


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

    def rounds(self) -> Iterator[Report]:
        """The same from the same seed: what a round finds is of use to the next ones."""
        corpus, report, number = seeds(self.formats), Report(), 0
        context = multiprocessing.get_context("fork")
        while True:
            pipes = []
            for _ in range(self.workers):
                here, there = context.Pipe(duplex=False)
                process = context.Process(target=self._chunk, args=(corpus, number, there))
                process.start()
                there.close()
                pipes.append((process, here))
                number += 1
            for process, pipe in pipes:
                _collect(pipe, report, corpus)
                process.kill()
                process.join()
            yield report

    def _chunk(self, corpus: Sequence[bytes], number: int, pipe: Connection) -> None:
        """Sends each mutant before it is tried, and what became of it after."""
        chance = random.Random(f"{self.seed} {number}")
        accepted: list[Accepted] = []
        for index in range(CHUNK):
            seed = number * CHUNK + index
            data = mutant(corpus, chance)
            pipe.send(("tries", data, seed))
            outcome = try_program(data, seed)
            pipe.send(("ended", outcome.kind, outcome.signature, outcome.details))
            accepted += [(data, seed, example) for example in outcome.examples]
        isas = [isa for isa in self.harnesses if isa is not Isa.SCALAR]
        turn, rest = divmod(number, SAMPLE)
        chosen = [isas[turn % len(isas)]] if isas and rest == 0 else []
        for isa in (Isa.SCALAR, *chosen):
            batch = planned_for(isa, accepted)
            pipe.send(("batch", isa, len(batch)))
            for finding in self.run(batch, isa):
                pipe.send(("finding", finding))
        pipe.send(("done",))

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


def _collect(pipe: Connection, report: Report, corpus: list[bytes]) -> None:
    """Takes what a chunk sends; a chunk that ends early has failed in the mutant it was at."""
    data, seed = b"", 0

    def found(finding: Finding) -> None:
        report.kinds["finding"] += 1
        report.findings.setdefault(finding.signature, finding)

    try:
        while pipe.poll(PATIENCE):
            match pipe.recv():
                case ("tries", data, seed):
                    pass
                case ("ended", kind, signature, details):
                    report.kinds[kind] += 1
                    if kind == "crash":
                        found(Finding(signature, details, data, seed))
                    elif signature not in report.signatures and len(corpus) < MOST_SEEDS:
                        report.signatures.add(signature)
                        if len(data) < 1 << 16:
                            corpus.append(data)
                case ("batch", isa, count):
                    report.kinds[f"on {PLACES[isa]}"] += count
                case ("finding", finding):
                    found(finding)
                case ("done",):
                    return
        found(Finding("hangs", "no answer", data, seed))
    except EOFError:
        found(Finding("the process died", "without a word", data, seed))


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
