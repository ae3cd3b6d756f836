"""The quantizer's wishes for each operator, as text. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import (
    DerivedQuantizationSpec,
    FixedQParamsQuantizationSpec,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY


def annotated(graph: GraphModule) -> str:
    """Each node of a prepared graph, how its operands and its result are to be quantised."""
    return "\n".join(line for node in graph.graph.nodes for line in _node(node))


def _node(node: Node) -> Iterator[str]:
    if node.op == "call_module":  # an observer
        return
    arguments = ", ".join(str(_behind(argument)) for argument in node.args)
    yield f"{node.name} = {node.target}({arguments}){_shape(node)}"
    annotation = node.meta.get(Q_ANNOTATION_KEY)
    if annotation is None or not annotation._annotated:
        if node.op == "call_function":
            yield "    left in float"
        return
    for source, spec in annotation.input_qspec_map.items():
        yield f"    {source}: {_spec(spec)}"
    if annotation.output_qspec is not None:
        yield f"    result: {_spec(annotation.output_qspec)}"


def _shape(node: Node) -> str:
    value = node.meta.get("val")
    if not isinstance(value, Tensor):
        return ""
    return f"  {_dtype(value.dtype)} {'×'.join(map(str, value.shape)) or 'scalar'}"


def _behind(argument: Any) -> Any:
    """An argument itself, where an observer looks at it."""
    if isinstance(argument, (tuple, list)):
        return [_behind(each) for each in argument]
    if isinstance(argument, Node) and argument.op == "call_module":
        return argument.args[0]
    return argument


def _spec(spec: Any) -> str:
    """`int8 per_tensor_affine, HistogramObserver`"""
    if isinstance(spec, SharedQuantizationSpec):
        return f"as {spec.edge_or_node}"
    if spec is None:
        return "float"
    form = f"{_dtype(spec.dtype)} {_dtype(spec.qscheme)}"
    if isinstance(spec, DerivedQuantizationSpec):
        return f"{form}, from {', '.join(map(str, spec.derived_from))}"
    if isinstance(spec, FixedQParamsQuantizationSpec):
        return f"{form}, scale {spec.scale:.9g}, zero point {spec.zero_point}"
    observer = spec.observer_or_fake_quant_ctr
    observer = getattr(observer, "p", observer)  # with_args makes a partial
    observer = getattr(observer, "func", observer)
    return f"{form}, {getattr(observer, '__name__', type(observer).__name__)}"


def _dtype(what: Any) -> str:
    return str(what).removeprefix("torch.")
