"""Operands of concatenations get a range of their own where that pays."""

from __future__ import annotations

import pytest
import torch
from harness.coverage import integer_snr
from harness.pte import operators
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e

from cmcompiler.frontend import backend
from cmcompiler.frontend import operators as own
from cmcompiler.frontend.joined_operands import joined_operands, separate_operands
from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.observations import hold_ranges
from cmcompiler.frontend.own_ranges import GroupWatch
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.rewrites.order import rewrite
from cmcompiler.frontend.simulation import Simulation
from cmcompiler.target import Target

STEP = "own ranges of joined operands"


class Decoding(nn.Module):
    """Probabilities beside places up to `size`, both from the same results; the largest of each."""

    def __init__(self, size: float) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.size = nn.Linear(8, 6), size

    def forward(self, x: Tensor) -> Tensor:
        results = self.layer(x).sigmoid()
        places, probabilities = results[:, :2], results[:, 2:]
        return torch.cat([places * self.size, probabilities], 1).amax(0)


def inputs(count: int) -> list[tuple[Tensor, ...]]:
    torch.manual_seed(1)
    return [(torch.randn(4, 8),) for _ in range(count)]


def test_own_ranges_keep_the_float_function_and_can_be_taken_back() -> None:
    own.define()
    given = inputs(4)
    graph = torch.export.export(Decoding(64).eval(), given[0]).module(check_guards=False)
    prepared = prepare_pt2e(rewrite(graph), backend.Quantizer())
    watch = GroupWatch(prepared)
    operands = tuple(joined_operands(prepared, watch))
    prepared.recompile()
    nodes = list(map(str, prepared.graph.nodes))
    with torch.no_grad():
        for sample in given:
            prepared(*sample)
        watch.end()
        hold_ranges(prepared)
        simulation = Simulation(prepared)
        before = [simulation.run_on(given, rounding=rounding) for rounding in (False, True)]
        change = separate_operands(operands)
        assert change is not None
        separated = [simulation.run_on(given, rounding=rounding) for rounding in (False, True)]
        change.undo()
        after = [simulation.run_on(given, rounding=rounding) for rounding in (False, True)]
    assert set(map(str, prepared.graph.nodes)) < set(nodes)
    errors = [error(before[0], rounded) for rounded in (before[1], separated[1])]
    assert error(before[0], separated[0]) == 0
    assert errors[1] < errors[0] / 10
    assert error(before[0], after[0]) == error(before[1], after[1]) == 0


def error(exact: list[list[Tensor]], collected: list[list[Tensor]]) -> float:
    pairs = zip(exact, collected, strict=True)
    return sum(float((x[0] - y[0]).square().sum()) for x, y in pairs)


@pytest.mark.parametrize("is_portable", [False, True])
def test_what_is_read_beside_a_concatenation_keeps_its_bits(is_portable: bool) -> None:
    given = inputs(16)
    module = Decoding(64).eval()
    quantized = quantize(module, given[0], given, is_portable)
    steps = {step.name: step for step in quantized.refinements}
    assert steps[STEP].snr_db > steps[STEP].before_db + 10
    assert quantized.float_operators == ()
    program = lower(quantized, Target.parse("cortex-m55"))
    assert integer_snr(module, program, given) > 40
    # Slices, which the dialect leaves to ATen, are upstream's, too.
    assert {name.partition("::")[0] for name in operators(program)} <= {"cortex_m", "aten"}


def test_operands_as_wide_as_the_result_share_its_range() -> None:
    given = inputs(16)
    quantized = quantize(Decoding(1).eval(), given[0], given)
    assert STEP not in [step.name for step in quantized.refinements]


class Choosing(nn.Module):
    """Numbers that say by their sign whether much larger ones take their place."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.small, self.large = nn.Linear(8, 16), nn.Linear(8, 16)

    def forward(self, x: Tensor) -> Tensor:
        small = self.small(x)
        return torch.where(small > 0, small, 50 * self.large(x)).amax(0)


def test_a_number_that_is_compared_keeps_its_bits_beside_larger_ones() -> None:
    given = inputs(16)
    module = Choosing().eval()
    quantized = quantize(module, given[0], given)
    assert [step.name for step in quantized.refinements][:1] == [STEP]
    assert quantized.float_operators == ()
    program = lower(quantized, Target.parse("cortex-m55"))
    assert integer_snr(module, program, given) > 18
