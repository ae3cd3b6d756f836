"""Operators of a program and the lines of the user's source that they come from."""

from __future__ import annotations

import torch
from harness.pte import operators
from torch import nn
from torch.fx import Graph

from cmcompiler.frontend.call_sites import CallSite, mark, mark_again, marked
from cmcompiler.frontend.lowering import lower_with_nodes
from cmcompiler.frontend.quantization import quantize
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.arithmetic import Arithmetic, arithmetics
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target

X = (torch.linspace(-1, 1, 24).reshape(1, 24),)


class Rests(nn.Module):
    """An operator of two numbers, which has no int8 form, between linear layers."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(24, 8), nn.Linear(8, 3)
        self.other = nn.Linear(24, 8)
        self.kept = nn.Sequential(nn.ReLU())

    def forward(self, x):
        y = self.first(x)
        z = torch.fmod(y, self.kept(self.other(x)) + 1)
        return self.last(z)


LINE = Rests.forward.__code__.co_firstlineno + 2


def test_instructions_remember_calls_and_calls_their_lines():
    quantized = quantize(Rests().eval(), X, [X])
    (left,) = (each for each in quantized.float_operators if "fmod" in each.operator)
    assert quantized.call_sites[left.node] == CallSite("fmod", "", __file__, LINE)
    last = quantized.call_sites["linear_2"]
    assert (last.operator, last.module, last.line) == ("linear", "last", LINE + 1)
    relu = quantized.call_sites["relu"]
    assert (relu.module, relu.file, relu.line) == ("kept.0", __file__, LINE)

    lowered = lower_with_nodes(quantized, Target.parse("cortex-m55"))
    graph = build_graph(read_program(lowered.program))
    actual = {
        int(node.source.rpartition("#")[2]): (node.source, arithmetic)
        for node, arithmetic in zip(graph.nodes, arithmetics(graph), strict=True)
    }
    assert operators(lowered.program)["aten::fmod"] == 1
    (index,) = (index for index, name in lowered.nodes.items() if name == left.node)
    assert actual[index] == (f"aten::fmod.Tensor_out #{index}", Arithmetic.FLOAT)
    (index,) = (index for index, name in lowered.nodes.items() if name == "linear_2")
    assert actual[index] == (f"cortex_m::quantized_linear.out #{index}", Arithmetic.INTEGER)
    # Quantize and dequantize around the float operator come from no call.
    unnamed = {actual[index] for index in actual.keys() - lowered.nodes.keys()}
    assert {arithmetic for _, arithmetic in unnamed} == {Arithmetic.FLOAT, Arithmetic.BOUNDARY}
    assert all("quantize_per_tensor" in source for source, _ in unnamed)


def test_libraries_have_no_lines_of_the_users():
    module = nn.Sequential(nn.Linear(24, 8), nn.ReLU()).eval()
    sites = quantize(module, X, [X]).call_sites
    assert sites["linear"] == CallSite("linear", "0", None, None)


class Best(nn.Module):
    """An operator with two results."""

    def forward(self, x):
        return torch.topk(x, 3)


def test_operators_with_several_results_remember_their_calls():
    lowered = lower_with_nodes(quantize(Best(), X, [X]), Target.parse("cortex-m55"))
    assert operators(lowered.program)["aten::topk"] == 1
    assert "topk" in lowered.nodes.values()


def test_marks_of_copied_nodes_stay_apart():
    """A copied graph names its nodes anew, maybe as others are marked."""
    graph = Graph()
    x = graph.placeholder("x")
    first, second = (graph.call_function(torch.ops.aten.add.Tensor, (x, n)) for n in (1, 2))
    sites = mark(graph)
    marks = [marked(first), marked(second)]
    first._rename("moved")
    second._rename(marks[0])
    mark_again([second], sites)
    assert marked(first) == marks[0]
    assert marked(second) == f"{marks[0]}_2"
    assert sites[f"{marks[0]}_2"] == sites[marks[1]]


def test_lines_of_generated_code_do_not_count():
    graph = Graph()
    node = graph.call_function(torch.ops.aten.add.Tensor, (graph.placeholder("x"), 1))
    frames = ('File "net.py", line 8, in forward', 'File "<eval_with_key>.7", line 5, in forward')
    node.meta["stack_trace"] = "\n".join(frames)
    (site,) = mark(graph).values()
    assert (site.file, site.line) == ("net.py", 8)
