from __future__ import annotations

import subprocess
import sys
from math import inf
from pathlib import Path

import numpy as np
import pytest
import torch
from harness.pte import operators
from harness.pte import plan as parsed
from harness.toy import Sum
from torch import nn

from cmcompiler.api import _placement, compile, load, plan, reference, save
from cmcompiler.errors import InvalidProgram, InvalidRequest, Unsupported
from cmcompiler.frontend.quantized import FloatOperator
from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa, Microkernel
from cmcompiler.ops.support.packing import GEMM
from cmcompiler.plan.options import PlanOptions
from cmcompiler.plan.planner import make_plan
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target

PROGRAMS = Path(__file__).parents[1] / "data" / "programs"


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.linear = nn.Conv2d(3, 8, 3), nn.Linear(8, 4)

    def forward(self, image, offset):
        pooled = self.conv(image).relu().mean((2, 3))
        return self.linear(pooled) + offset


INPUTS = (torch.rand(1, 3, 8, 8), torch.rand(1, 4))


@pytest.fixture(scope="module")
def compiled():
    torch.manual_seed(1)
    calibration = [(torch.rand(1, 3, 8, 8), torch.rand(1, 4)) for _ in range(10)]
    return compile(Network(), INPUTS, calibration)


def test_importing_the_api_imports_no_torch():
    program = "import sys, cmcompiler.api; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_typed_program_is_that_of_the_bytes(compiled):
    assert compiled.program == read_program(compiled.pte)
    assert set(operators(compiled.pte)) <= {
        "cortex_m::quantize_per_tensor",
        "cortex_m::quantized_conv2d",
        "cortex_m::quantized_avg_pool2d",
        "cortex_m::quantized_linear",
        "cortex_m::quantized_add",
        "cortex_m::dequantize_per_tensor",
        "aten::view_copy",
    }


def test_the_contract_says_what_goes_in_and_comes_out(compiled):
    image, offset = compiled.contract.inputs
    (output,) = compiled.contract.outputs
    assert (image.name, image.shape, image.layout) == ("image", (1, 3, 8, 8), "channels-last")
    assert (offset.name, offset.shape, offset.layout) == ("offset", (1, 4), "contiguous")
    assert (output.name, output.shape) == ("output_0", (1, 4))
    assert {port.dtype for port in (image, offset, output)} == {np.dtype(np.float32)}
    # Inputs in [0, 1) on 256 steps.
    assert image.scale == pytest.approx(1 / 255, rel=0.02)
    assert image.zero_point == -128
    values = [value.val for value in parsed(compiled.pte).values]
    assert output.scale in [v.double_val for v in values if type(v).__name__ == "Double"]


def test_the_placement_follows_the_instructions(compiled):
    placed = [p for p in compiled.placement if p.source.startswith("cortex_m::")]
    names = [p.op.split()[0] for p in placed]
    assert [name for name in names if name != "quantize"] == [
        "conv2d",
        "avg_pool2d",
        "linear",
        "add",
        "dequantize",
    ]
    assert names.count("quantize") == 2
    assert all(p.kernels for p in placed)
    assert {p.reason for p in placed if p.isa is Isa.MVE} == {None}
    (conv,) = (p for p in placed if p.op.startswith("conv2d"))
    assert conv.isa is GEMM.provider(Isa.MVE)


def test_a_lower_isa_is_seen_in_the_placement():
    target = Target.parse("cortex-m55", "scalar")
    compiled = compile(nn.Linear(4, 3), torch.rand(1, 4), target=target)
    assert {p.isa for p in compiled.placement} == {Isa.SCALAR}
    assert {p.reason for p in compiled.placement} == {None}


def test_a_saved_program_loads_for_any_core(compiled, tmp_path):
    file = tmp_path / "net.pte"
    save(compiled, file)
    loaded = load(file, "cortex-m0plus")
    assert (loaded.pte, loaded.vectors) == (compiled.pte, None)
    assert loaded.target == Target.parse("cortex-m0plus")
    assert {placed.isa for placed in loaded.placement} == {Isa.SCALAR}
    assert [port.name for port in loaded.contract.inputs] == ["input_0", "input_1"]
    assert load(file).placement == compiled.placement
    (expected,), (actual,) = (
        next(reference(program, compiled.vectors)) for program in (compiled, loaded)
    )
    assert np.array_equal(expected, actual)


def test_what_cannot_be_loaded_is_one_clear_line(tmp_path):
    with pytest.raises(InvalidRequest, match=r"cannot read .*net\.pte: No such file"):
        load(tmp_path / "net.pte")
    (tmp_path / "net.pte").write_bytes(b"no program")
    with pytest.raises(InvalidProgram):
        load(tmp_path / "net.pte")


def test_a_reference_keeps_states_unless_reset():
    program = load(PROGRAMS / "states.pte")
    sample = [np.ones(port.shape, port.dtype) for port in program.contract.inputs]
    first, second = (listed[0] for listed in reference(program, [sample] * 2))
    again = [listed[0] for listed in reference(program, [sample] * 2, reset=True)]
    assert not np.array_equal(first, second)
    assert all(np.array_equal(first, listed) for listed in again)


def test_a_plan_is_of_the_target_and_its_options(compiled):
    actual = plan(compiled)
    assert (actual.isa, actual.macs > 0) == (Isa.MVE, True)
    assert plan(compiled, PlanOptions(surcharge=inf)).arena_bytes <= actual.arena_bytes
    with pytest.raises(Unsupported):
        plan(compiled, PlanOptions(budget=16))


def test_vectors_are_calibration_inputs(compiled):
    assert len(compiled.vectors) == 8
    assert [array.shape for array in compiled.vectors[0]] == [(1, 3, 8, 8), (1, 4)]


def test_every_layer_is_compared_with_the_module(compiled, tmp_path):
    assert compiled.fidelity.faithful
    assert not compiled.fidelity.unpaired
    save(compiled, tmp_path / "net.pte")
    assert load(tmp_path / "net.pte").fidelity.faithful is None


def test_what_runs_without_a_microkernel_of_the_target_says_so():
    graph = toy_graph(
        Sum(microkernel=Microkernel("sum")), np.dtype(np.int8), "cortex_m::sum.out #0"
    )
    (placed,) = _placement(graph, make_plan(graph, Isa.DSP), ())
    assert (placed.kernels, placed.isa) == (("sum",), Isa.SCALAR)
    assert placed.reason == "sum has no dsp version; scalar is used"


@pytest.mark.parametrize(
    ("dtype", "source", "reason"),
    [
        (np.float32, "aten::convolution.out #4", "aten.conv1d.default was left in float: no rule"),
        (np.float32, "aten::relu.out #5", "its inputs were left in float"),
        (np.int8, "aten::permute_copy.out #6", None),
        (np.float32, "cortex_m::dequantize_per_tensor.out #7", None),
    ],
)
def test_what_is_computed_in_float_says_why(dtype, source, reason):
    graph = toy_graph(Sum(), np.dtype(dtype), source)
    left = [FloatOperator("conv1d", "aten.conv1d.default", "no rule")]
    (placed,) = _placement(graph, make_plan(graph, Isa.SCALAR), left)
    assert placed.reason == reason


def toy_graph(op: Sum, dtype: np.dtype, source: str) -> Graph:
    taken, made = Tensor("x", dtype, (4,)), Tensor("y", dtype, (4,))
    ports = [(Port(tensor.name, tensor, (4,), (0,)),) for tensor in (taken, made)]
    return Graph("toy", (Node(op, (taken,), (made,), source),), *ports)


def test_an_operator_without_a_kernel_is_named_with_the_quantizers_reason():
    class Distances(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cdist(x, x, p=3.5)

    with pytest.raises(Unsupported, match="aten::_cdist_forward") as caught:
        compile(Distances(), torch.rand(1, 8))
    assert "aten.cdist.default was left in float: " in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"example_inputs": [1.0]}, "example_inputs: an input is a float, not a tensor"),
        ({"calibration": [torch.rand(1, 5)]}, "calibration sample 1 has float32 1×5"),
        ({"target": "cortex-a55"}, "unknown target cortex-a55"),
    ],
)
def test_a_bad_request_is_one_clear_line(arguments, message):
    defaults = {"module": nn.Linear(4, 3), "example_inputs": torch.rand(1, 4)}
    with pytest.raises(InvalidRequest) as caught:
        compile(**(defaults | arguments))
    assert message in caught.value.message
