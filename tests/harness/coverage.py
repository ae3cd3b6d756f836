"""How much of a model is computed in integers, and how close to float the results are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils import _pytree

from cmcompiler.frontend.lowering import lower
from cmcompiler.frontend.quantization import quantize
from cmcompiler.frontend.quiet import quiet
from cmcompiler.frontend.sensitivity import snr
from cmcompiler.frontend.source import find_source
from cmcompiler.importer.build import build_graph
from cmcompiler.ir.graph import Graph, Node
from cmcompiler.ir.reference import evaluate_all
from cmcompiler.pte.reader import read_program
from cmcompiler.target import Target


@dataclass(frozen=True)
class Coverage:
    """What became of a model.

    Attributes:
        macs: multiply-accumulates of one inference.
        share: of the MACs, in integer kernels.
        snr: of the int8 reference's outputs against the float module's, in dB.
        input_snr: of the float module's own outputs, if nothing but its inputs is rounded to int8:
            how much of an error the network itself keeps, enlarges or averages away.
        float_ops: how many ops with float operands there are, by title, without the boundary's.
    """

    macs: int
    share: float
    snr: float
    input_snr: float
    float_ops: Mapping[str, int]


def integer_snr(
    module: torch.nn.Module, program: bytes, samples: Sequence[tuple[Tensor, ...]]
) -> float:
    """Of the outputs of a program's int8 reference against those of the module."""
    return _snr(module, build_graph(read_program(program)), samples)


def cover(model: str, target: str = "cortex-m55") -> Coverage:
    """Exports `file.py:callable` and evaluates its reference on the calibration inputs."""
    with quiet():
        loaded = find_source(model).load(0, None)
        calibration = list(loaded.calibration)
        quantized = quantize(loaded.module, loaded.example_inputs, calibration)
        graph = build_graph(read_program(lower(quantized, Target.parse(target))))
    nodes = [node for node in graph.nodes if node.op.macs]
    macs = sum(node.op.macs for node in nodes)
    integer = sum(node.op.macs for node in nodes if not is_float(node))
    return Coverage(
        macs,
        integer / macs if macs else 1.0,
        _snr(loaded.module.eval(), graph, calibration),
        input_snr(loaded.module, calibration),
        Counter(node.op.title for node in graph.nodes if is_float(node) and not _at_border(node)),
    )


def is_float(node: Node) -> bool:
    return any(np.issubdtype(x.dtype, np.floating) for x in (*node.inputs, *node.outputs))


def _at_border(node: Node) -> bool:
    return node.op.label in ("quantize", "dequantize") or node.op.view_of is not None


def input_snr(module: torch.nn.Module, samples: Sequence[tuple[Tensor, ...]]) -> float:
    """See Coverage; infinite if no input is a float."""
    rounded = list(zip(*map(_rounded, zip(*samples, strict=True)), strict=True))
    with torch.no_grad():
        exact, actual = (
            [x for sample in given for x in _pytree.tree_leaves(fresh(*sample))]
            for given in (samples, rounded)
            for fresh in (deepcopy(module),)  # with its initial states
        )
    return snr(exact, actual)


def _rounded(inputs: Sequence[Tensor]) -> list[Tensor]:
    """An input of each sample, to 256 steps from the least to the largest of all elements."""
    if not inputs[0].is_floating_point():
        return list(inputs)
    least = min(float(x.min()) for x in inputs)
    step = (max(float(x.max()) for x in inputs) - least) / 255
    return [torch.round((x - least) / step) * step + least for x in inputs]


def _snr(module: torch.nn.Module, graph: Graph, samples: Sequence[tuple[Tensor, ...]]) -> float:
    arrays: list[list[Any]] = [[x.numpy() for x in sample] for sample in samples]
    actual = [
        torch.from_numpy(np.array(output))
        for evaluated in evaluate_all(graph, arrays)
        for output in evaluated.outputs
    ]
    with torch.no_grad():
        fresh = deepcopy(module)  # with its initial states
        exact = [x for sample in samples for x in _pytree.tree_leaves(fresh(*sample))]
    return snr(exact, actual)
