"""The table of types in docs/accuracy.md, from programs that have a small layer for each cell."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.importer.build import build_graph
from cmcompiler.importer.programs import parse
from cmcompiler.ir.graph import Graph, Node
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa
from cmcompiler.ops.support.short_gates import FineGateProduct
from harness.examples import Example
from harness.sources import ROOT

FOLDER = ROOT / "tests" / "data" / "typed"

TYPES = ("8w8a", "8w16a", "4w8a", "4w16a", "16w16a")

WEIGHTED = {
    "conv2d": "quantized_conv2d",
    "depthwise_conv2d": "quantized_depthwise_conv2d",
    "transpose_conv2d": "quantized_transpose_conv2d",
    "linear": "quantized_linear",
    "lstm": "LSTM",
    "gru": "GRU",
    "svdf": "SVDF",
}
"""Rows with weights, in the order of the programs' outputs: labels of operators, and names."""

OTHERS = {
    "batch_matmul": "quantized_batch_matmul",
    "add": "quantized_add",
    "mul": "quantized_mul",
    "div": "quantized_div",
    "avg_pool2d": "quantized_avg_pool2d",
    "max_pool2d": "quantized_max_pool2d",
    "softmax": "softmax",
    "minimum": "minimum",
    "maximum": "maximum",
    "activation": "quantized_activation",
    "transpose": "transpose",
    "pad": "pad",
}
"""Rows without weights, likewise."""

_ENDS = {"quantize": "quantize_per_tensor", "dequantize": "dequantize_per_tensor"}
"""What programs begin and end with."""

_SPELLED = {
    "minimum": ("minimum", "binary"),
    "maximum": ("maximum", "binary"),
    "activation": ("activation", "function"),
    "transpose": ("transpose", "view"),
    "pad": ("copy",),
}
"""Labels of the operators that rows may become."""


@cache
def typed_program(kind: str) -> Example:
    """The program of a type, with samples of its inputs."""
    graph = build_graph(parse((FOLDER / f"{kind}.pte").read_bytes(), ".pte"))
    random = np.random.default_rng(7)
    inputs = tuple(_numbers(random, port.shape, port.tensor.dtype) for port in graph.inputs)
    return Example(graph, inputs, kind)


def _numbers(
    random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> npt.NDArray[Any]:
    if dtype.kind == "f":
        return random.normal(0, 1, shape).astype(dtype)
    return random.integers(-9, 9, shape).astype(dtype)


def runs(kind: str) -> dict[str, bool]:
    """Whether each row that a type may have is computed in that type."""
    graph, element = typed_program(kind).graph, np.dtype(np.int16 if _is_short(kind) else np.int8)
    cells = {}
    for row, port in zip((*WEIGHTED, *OTHERS), graph.outputs, strict=False):
        labels = _SPELLED.get(row, (row,))
        own = [node for node in _path(graph, port.tensor) if node.op.label in labels]
        cells[row] = all(node.outputs[-1].dtype == element for node in own) and _has_weights(
            own, kind
        )
    if kind in ("8w8a", "8w16a"):
        for row in _ENDS:
            ends = [node for node in graph.nodes if node.op.label == row]
            beside = [node.outputs[0] if row == "quantize" else node.inputs[0] for node in ends]
            cells[row] = element in {tensor.dtype for tensor in beside}
    return cells


def _is_short(kind: str) -> bool:
    return kind.endswith("16a")


def _path(graph: Graph, tensor: Tensor) -> list[Node]:
    """The nodes that an output depends on."""
    nodes, wanted = [], {tensor}
    for node in reversed(graph.nodes):
        if wanted.intersection(node.outputs):
            nodes.append(node)
            wanted.update(node.inputs)
    return nodes


def _has_weights(nodes: Sequence[Node], kind: str) -> bool:
    """Whether nodes are there, with kernels that unpack four bits or products of both halves."""
    if kind.startswith("4w"):
        calls = [call for n in nodes for call in n.op.kernel_calls(n.inputs, n.outputs, Isa.DSP)]
        return any("_w4" in call.kernel for call in calls)
    if kind.startswith("16w"):
        return len(nodes) > 1 or any(_fine_weights(node.op) for node in nodes)
    return bool(nodes)


def _fine_weights(op: object) -> bool:
    """Whether a recurrent layer's weights have more than eight bits."""
    return any(isinstance(value, FineGateProduct) for value in vars(op).values())


def table() -> str:
    columns = {kind: runs(kind) for kind in TYPES}
    names = WEIGHTED | OTHERS | _ENDS
    lines = [f"| | {' | '.join(TYPES)} |", f"| --- |{' :---: |' * len(TYPES)}"]
    for row, name in names.items():
        cells = ["–" if row not in each else "●" if each[row] else "○" for each in columns.values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
