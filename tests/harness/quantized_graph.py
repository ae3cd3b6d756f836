"""The reference beside the quantised graph as torch runs it, layer by layer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import getitem
from typing import Any

import torch
from torch.fx import Interpreter, Node

from cmcompiler.frontend.call_sites import marked
from cmcompiler.frontend.fidelity.pairing import ValuePair, pair
from cmcompiler.frontend.layouts import channels_last
from cmcompiler.frontend.lowering import Lowered
from cmcompiler.frontend.quantized import Quantized
from cmcompiler.ir.graph import Graph
from cmcompiler.ir.reference import Array, evaluate
from cmcompiler.pte.methods import find_method
from cmcompiler.pte.reader import read_program

QUANTIZE = torch.ops.quantized_decomposed.quantize_per_tensor.default

Key = tuple[str | None, float, int]
"""A quantised tensor: the layer that computes it, its scale and its zero point."""


class ForcedQuantizedRun(Interpreter):
    """Computes the quantised graph, and goes on with the program's integers after each layer.

    Attributes:
        steps: the largest difference of each layer so far.
    """

    def __init__(self, quantized: Quantized) -> None:
        super().__init__(quantized.program.module(check_guards=False))
        self.steps: defaultdict[Key, int] = defaultdict(int)
        self.values: Mapping[Key, Array] = {}

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        if n.target is not QUANTIZE:
            return result
        source, scale, zero_point, *_ = n.args
        assert isinstance(source, Node)
        key = name_of(source), float(scale), int(zero_point)  # type: ignore[arg-type]
        if key not in self.values:
            return result
        made = torch.from_numpy(self.values[key].copy()).reshape(result.shape)
        difference = (made.int() - result.int()).abs().max()
        self.steps[key] = max(self.steps[key], int(difference))
        return made


def steps_from_torch(
    quantized: Quantized, lowered: Lowered, graph: Graph, samples: Sequence[Sequence[Array]]
) -> dict[Key, int | None]:
    """How far a program is from torch at each quantised tensor; None where torch has no such one.

    Args:
        graph: of the program, whose reference is compared.
    """
    program = read_program(lowered.program)
    pairing = pair(graph, find_method(program, "forward"), lowered.nodes, quantized.real.graph)
    pairs = {key_of(each): each for each in pairing.pairs if each.range is not None}
    run = ForcedQuantizedRun(quantized)
    with torch.no_grad():
        for sample in samples:
            made = evaluate(graph, sample, {each.tensor for each in pairs.values()}).tensors
            run.values = {
                key: each.held.to_logical(made[each.tensor]) for key, each in pairs.items()
            }
            run.run(*(channels_last(torch.from_numpy(array)) for array in sample))
    return {key: run.steps.get(key) for key in pairs}


def name_of(node: Node) -> str | None:
    """The layer's name, as it was marked; of one of several results, that of what returns them."""
    source = node.args[0] if node.target is getitem else node
    assert isinstance(source, Node)
    return marked(source)


def key_of(pair: ValuePair) -> Key:
    assert pair.range is not None
    return name_of(pair.node), pair.range.scale, pair.range.zero_point
