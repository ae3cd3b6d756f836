"""A program as nodes over tensors in physical shapes."""

from cmcompiler.graph.build import build_graph
from cmcompiler.graph.graph import Graph, Guard, Node, Port, State, Tensor
from cmcompiler.quantization import Quantization

__all__ = ["Graph", "Guard", "Node", "Port", "Quantization", "State", "Tensor", "build_graph"]
