"""Names of a module's tensors in its exported graph. Importing it imports torch."""

from __future__ import annotations

from itertools import chain

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule

_EMPTY = GraphModule(torch.nn.Module(), Graph())
_OWN = {*dir(_EMPTY), "shape_env"}
"""Attributes of a graph as a module, which no tensor in it can be named after."""


def without_own_names(program: ExportedProgram) -> ExportedProgram:
    """The program itself, whose tensors have names that a graph as a module does not have.

    A module may name a layer `code` or `graph`; the stacks of modules keep its names.
    """
    signature = program.graph_signature
    for spec in chain(signature.input_specs, signature.output_specs):
        if spec.target is not None:
            spec.target = _renamed(spec.target)
    for held in (program.state_dict, program.constants):
        for name in [name for name in held if _renamed(name) != name]:
            held[_renamed(name)] = held.pop(name)
    return program


def _renamed(path: str) -> str:
    return ".".join(f"{name}__own" if name in _OWN else name for name in path.split("."))
