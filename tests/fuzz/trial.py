"""One program through read, graph, plan, emit and reference, within limits of time and memory."""

from __future__ import annotations

import random
import re
import resource
import signal
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from harness.examples import Example
from harness.headers import differences

from cmcompiler.emit.interface import PackageInterface
from cmcompiler.emit.recording import record
from cmcompiler.emit.source import c_file, header
from cmcompiler.errors import CompilerError, Unsupported
from cmcompiler.importer.build import build_graph
from cmcompiler.importer.programs import parse
from cmcompiler.importer.pruning import pruned
from cmcompiler.importer.suffixes import PTE, TFLITE
from cmcompiler.isa import Isa
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.plan import Plan
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.program import RefusedMethod
from cmcompiler.tflite.reader import is_tflite
from fuzz.program_mutations import Inputs

SECONDS = 10
"""Of the processor, for one program."""

MEMORY = 2 << 30
"""Bytes, beside what an idle process has."""

LONGEST_MESSAGE = 2000

MOST_MACS = 20_000_000
MOST_ARENA = 4 << 20
"""What is larger is planned and emitted, but not run."""

OTHER_PLANS = 8
"""A program in so many is planned for DSP as well, another for Helium, with rows, …"""


class TooSlow(BaseException):
    """A program has taken too long."""


@dataclass(frozen=True)
class Outcome:
    """What became of a program.

    Attributes:
        kind: refused, large, accepted; or a finding: crash.
        signature: equal for programs that went the same way.
        details: of a finding.
        examples: to be run.
    """

    kind: str
    signature: str
    details: str = ""
    examples: tuple[tuple[Example, Plan], ...] = ()


@contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"more than {seconds} s")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@contextmanager
def memory_limit(most: int = MEMORY) -> Iterator[None]:
    """Of this process; what it starts afterwards has none."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def try_program(data: bytes, seed: int) -> Outcome:
    """Its inputs depend on the seed."""
    try:
        with memory_limit(), time_limit(), warnings.catch_warnings():
            # NumPy's lines on stderr are none of the compiler's.
            warnings.simplefilter("error", RuntimeWarning)
            return _try(data, seed)
    except CompilerError as error:
        message = error.message
        if not message.isprintable() or not 0 < len(message) < LONGEST_MESSAGE:
            return Outcome("crash", "message", repr(message))
        return Outcome("refused", re.sub(r"\d+|value_\S+|\[.*?\]", "#", message)[:100])
    except (Exception, TooSlow) as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if "cmcompiler" in frame.filename] or frames
        place = f"{Path(own[-1].filename).name}:{own[-1].name}"
        return Outcome("crash", f"{type(error).__name__} in {place}", traceback.format_exc())


def options_of(seed: int, arena: int) -> PlanOptions:
    """Streams of bands that nobody would choose, as budgets and surcharges of any size give."""
    chance = random.Random(seed)
    return PlanOptions(
        streams=chance.random() < 0.8,
        budget=chance.choice((None, chance.randint(arena, 4 * arena + 64))),
        surcharge=chance.choice((0.0, 0.01, 0.3, 3.0)),
    )


def _check_header(plan: Plan) -> None:
    # Ports without a type in C are refused.
    with suppress(Unsupported):
        wrong = differences(plan, PackageInterface.of(record(plan, "model", "")))
        assert not wrong, wrong


def _try(data: bytes, seed: int) -> Outcome:
    program = parse(data, TFLITE if is_tflite(data) else PTE)
    refused: CompilerError | None = None
    examples, titles, is_large = [], [], False
    for method in program.methods:
        if isinstance(method, RefusedMethod):
            refused = method.reason
            continue
        graph = pruned(build_graph(program, method.name, ("program", "int8")[seed % 2]))
        plan = make_plan(graph, Isa.SCALAR)
        match seed // 2 % OTHER_PLANS:
            case 0:
                make_plan(graph, Isa.DSP)
            case 1:
                make_plan(graph, Isa.MVE)
            case 2 | 3:
                plan = make_plan(graph, Isa.SCALAR, options_of(seed, plan.arena_bytes))
            case 4:
                with suppress(Unsupported):
                    _check_header(make_plan(graph, Isa.SCALAR, PlanOptions(feed="rows")))
            case 5 | 6:
                _check_header(plan)
        if len(plan.constants) < 1 << 20:
            c_file(plan, "model", "0" * 16)
            header(plan, "model")
        titles += [node.op.title for node in graph.nodes]
        if plan.arena_bytes > MOST_ARENA or plan.macs > MOST_MACS:
            is_large = True
            continue
        ports = enumerate(graph.inputs)
        inputs = (Inputs(seed + i).array(p.tensor.dtype, p.shape) for i, p in ports)
        example = Example(graph, tuple(inputs), ", ".join(titles)[:200])
        assert example.reference is not None
        examples.append((example, plan))
    if examples:
        return Outcome("accepted", " ".join(sorted(set(titles)))[:100], examples=tuple(examples))
    if refused is not None and not is_large:
        raise refused
    return Outcome("large", " ".join(sorted(set(titles)))[:100])
