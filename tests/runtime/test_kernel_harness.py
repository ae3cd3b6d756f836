"""The kernel harness's image runs batches and refuses those it cannot run before it starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from harness import toy
from harness.examples import single

from cmbuild.launchers.base import Fault, Refused
from cmcompiler.emit.harness_batch import Case, Span, pack_cases, unpack_results
from cmcompiler.isa import Isa
from cmcompiler.ops.unary import Unary
from cmcompiler.plan.abi import SLACK
from cmcompiler.plan.plan import Base, Ref
from cmcompiler.plan.planner import make_plan

PLACES = [("corstone300", "mve"), ("corstone300", "scalar"), ("native", "scalar")]


@pytest.fixture(scope="module", params=PLACES, ids="-".join)
def place(request, bench, tmp_path_factory):
    machine = bench(*request.param)
    folder = tmp_path_factory.mktemp("kernel_harness")
    return machine, machine.builder.kernel_harness(machine.board, machine.library, folder)


def run(place, folder: Path, batch: bytes) -> bytes:
    actual, image = place
    (folder / "batch").write_bytes(batch)
    processes = actual.builder.processes
    actual.launcher.run(processes, image, folder, timeout=60, log=folder / "log")
    return (folder / "results").read_bytes()


def case(data: bytes, *, arena: int | None = None) -> Case:
    """No steps; the outputs are the input with the poison after it, and a constant."""
    tensor = toy.tensor("x", len(data))
    plan = make_plan(toy.graph([], [tensor], [tensor]), Isa.SCALAR)
    plan = replace(plan, constants=bytes(range(64)), arena_bytes=arena or plan.arena_bytes)
    place = plan.places[tensor]
    return Case(plan, (data,), (Span(place, len(data) + 2), Span(Ref(Base.CONSTANTS, 3), 4)))


def test_cases_run_in_poisoned_memory(place, tmp_path):
    cases = [case(b"first"), case(b"the second", arena=1000), case(b"")]
    results = unpack_results(run(place, tmp_path, pack_cases(cases)), cases)
    for each, result in zip(cases, results, strict=True):
        assert result.outputs == (each.inputs[0] + b"\xa5\xa5", bytes([3, 4, 5, 6]))


def test_an_unknown_kernel_is_refused(place, tmp_path):
    x, y = toy.tensor("x", 8), toy.tensor("y", 8)
    plan = make_plan(toy.graph([toy.node(toy.Sum(), [x], [y])], [x], [y]), Isa.SCALAR)
    with pytest.raises(Refused, match="no kernel sum"):
        run(place, tmp_path, pack_cases([Case(plan, (bytes(8),), ())]))


def test_a_batch_that_is_too_big_is_refused(place, tmp_path):
    with pytest.raises(Refused, match="too big for the workspace"):
        run(place, tmp_path, pack_cases([case(b"x", arena=64 << 20)]))


def test_what_is_no_batch_is_refused(place, tmp_path):
    with pytest.raises(Refused, match="not a batch"):
        run(place, tmp_path, bytes(100))
    with pytest.raises(Refused, match="cannot read batch"):
        run(place, tmp_path, pack_cases([case(b"x")])[:-1])


def test_a_kernel_that_leaves_its_arena_is_a_sanitizers_report(bench, tmp_path):
    """Conformance on this computer checks what kernels touch, not only what they compute."""
    machine = bench("native", "scalar")
    image = machine.builder.kernel_harness(machine.board, machine.library, tmp_path / "image")
    example = single(Unary("neg"), np.ones(64, np.float32))
    plan = make_plan(example.keeping_inputs.graph, Isa.SCALAR)
    place = machine, image
    run(place, tmp_path, pack_cases([Case.of(plan, example.inputs)]))
    cut = replace(plan, arena_bytes=plan.arena_bytes - SLACK - 16)
    with pytest.raises(Fault, match=r"AddressSanitizer: use-after-poison .*unary\.c"):
        run(place, tmp_path, pack_cases([Case.of(cut, example.inputs)]))
