"""Outputs of a model's float module and of its quantised graph on the samples of an export."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cmcompiler.arrays import read_arrays
from cmcompiler.errors import InvalidRequest, Unsupported
from cmcompiler.frontend.copies import copied

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram
    from torch.fx import GraphModule, Node
    from torch.utils._pytree import TreeSpec

    from cmcompiler.frontend.vectors import Samples

Arrays = tuple[npt.NDArray[Any], ...]

MOST = 1000
"""Samples that outputs are computed for; more would not change what they say, except of a model
with state, whose samples are a sequence."""

_LAST_OF_CLASSIFIERS = {
    *("aten::linear", "aten::addmm", "aten::mm", "aten::matmul"),
    *("aten::softmax", "aten::_softmax", "aten::log_softmax", "aten::_log_softmax"),
}
_MOVEMENTS = {
    *("aten::view", "aten::reshape", "aten::flatten", "aten::squeeze", "aten::unsqueeze"),
    *("aten::_unsafe_view", "aten::clone", "aten::contiguous", "aten::to", "aten::_to_copy"),
    *("aten::alias", "aten::detach", "aten::dropout", "aten::permute", "aten::transpose"),
}
"""Operators that may follow it without another meaning."""


_PLAIN = (None, tuple, list, dict)
"""Kinds of nodes of a TreeSpec, None for a leaf, that a program can return."""


@dataclass(frozen=True, eq=False, slots=True)
class ModelOutputs:
    """Outputs on the first samples of an export, one array for each, shape (samples, *y.shape).

    Attributes:
        real: of the float module.
        quantized: of the graph with quantize and dequantize around each operator, as torch runs it.
    """

    real: Arrays
    quantized: Arrays

    def save(self, path: Path) -> None:
        """Writes an `.npz` of float_0, … and quantized_0, …"""
        named = {"float": self.real, "quantized": self.quantized}
        arrays = {
            f"{name}_{index}": stack
            for name, stacks in named.items()
            for index, stack in enumerate(stacks)
        }
        np.savez(path, **arrays)

    @classmethod
    def load(cls, path: Path) -> ModelOutputs:
        """Reads what `save` wrote.

        Raises:
            InvalidRequest: unreadable.
        """
        arrays = read_arrays(path)
        real, quantized = (
            tuple(stack for key, stack in arrays.items() if key.startswith(f"{name}_"))
            for name in ("float", "quantized")
        )
        return cls(real, quantized)


def check_outputs(outputs: Any, place: str) -> None:
    """Lets torch take apart the dataclasses among what forward() returns.

    Args:
        place: of forward(), for errors.

    Raises:
        Unsupported: no tensor among them, or neither tensor nor number.
    """
    import torch
    from torch.export import register_dataclass
    from torch.utils._pytree import SUPPORTED_NODES, tree_leaves

    ahead = [outputs]
    while ahead:
        each = ahead.pop()
        if isinstance(each, (tuple, list)):
            ahead += each
        elif isinstance(each, Mapping):
            ahead += each.values()
        elif is_dataclass(each):
            if type(each) not in SUPPORTED_NODES:
                register_dataclass(type(each))
            ahead += [getattr(each, field.name) for field in fields(each)]
    leaves = tree_leaves(outputs)
    others = [leaf for leaf in leaves if not isinstance(leaf, (torch.Tensor, int, float, NoneType))]
    if others or not any(isinstance(leaf, torch.Tensor) for leaf in leaves):
        what = f"a {type(others[0]).__name__}" if others else "no tensor"
        raise Unsupported(
            f"{place}: forward() returns {what}",
            "return a tensor, or a tuple, list, dict, NamedTuple or dataclass of tensors",
        )


def with_plain_outputs(graph: GraphModule, states: int) -> None:
    """Makes a graph return a tuple where it returns objects of classes that only Python knows.

    Args:
        states: how many of the last outputs are new values of states, in a tuple of their own.
    """
    from torch.utils._pytree import tree_structure

    codegen: Any = graph.graph._codegen
    spec = codegen.pytree_info.out_spec
    if all(kind in _PLAIN for kind in _kinds(spec)):
        return
    own = (0,) * (spec.num_leaves - states)
    plain = tree_structure((own, (0,) * states) if states else own)
    codegen.pytree_info = codegen.pytree_info._replace(out_spec=plain)
    graph.recompile()


def _kinds(spec: TreeSpec) -> Iterator[Any]:
    yield spec.type
    for child in spec.children():
        yield from _kinds(child)


def names_of_outputs(exported: ExportedProgram) -> tuple[str, ...]:
    """The keys and fields that lead to each output, as `boxes` or `heads_0`; "" for an output that
    only its position tells from the others."""
    from torch.utils._pytree import GetAttrKey, MappingKey, tree_flatten_with_path, tree_unflatten

    spec = exported.call_spec.out_spec
    if spec is None:
        return ()
    paths = [
        path for path, _ in tree_flatten_with_path(tree_unflatten(range(spec.num_leaves), spec))[0]
    ]
    named = (MappingKey, GetAttrKey)
    return tuple(
        "_".join(
            str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", "")))) for key in path
        )
        if any(isinstance(key, named) for key in path)
        else ""
        for path in paths
    )


def holds_classes(exported: ExportedProgram) -> bool:
    """Whether a module's only output has one number a class, as a classifier's last linear layer or
    softmax gives it."""
    import torch

    names = exported.graph_signature.user_outputs
    if len(names) != 1:
        return False
    node = next((node for node in exported.graph.nodes if node.name == names[0]), None)
    value = None if node is None else node.meta.get("val")
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return False
    if any(isinstance(size, torch.SymInt) for size in value.shape):
        return False
    if sum(size > 1 for size in value.shape) != 1:
        return False
    while node is not None and _operator(node) in _MOVEMENTS:
        node = next(iter(node.all_input_nodes), None)
    return node is not None and _operator(node) in _LAST_OF_CLASSIFIERS


def _operator(node: Node) -> str:
    """`aten::linear`; empty for what is no operator."""
    schema = getattr(node.target, "_schema", None)
    return "" if schema is None else str(schema.name)


def run_on(
    module: torch.nn.Module,
    samples: Samples,
    arrange: Callable[[torch.Tensor], torch.Tensor] = lambda tensor: tensor,
    most: int | None = MOST,
    *,
    reset: bool = False,
) -> Arrays:
    """The tensors among a module's outputs on the first samples, one after the other.

    Args:
        module: a copy that may change its buffers, which carry over from one sample to the next.
        most: how many samples; None for all.
        reset: whether they do not.
        arrange: gives inputs the memory layout that the module expects.

    Raises:
        InvalidRequest: a sample that the module fails on.
    """
    import torch
    from torch.utils._pytree import tree_leaves

    rows: list[Sequence[torch.Tensor]] = []
    initial = copied(module) if reset else module
    with torch.no_grad():
        for number, sample in enumerate(islice(samples, most), start=1):
            inputs = [arrange(torch.from_numpy(np.array(array, order="C"))) for array in sample]
            if reset:
                module = copied(initial)
            try:
                leaves = tree_leaves(module(*inputs))
            except Exception as error:  # the user's own code
                reason = str(error).strip().partition("\n")[0]
                raise InvalidRequest(
                    f"sample {number}: {type(error).__name__}: {reason}"
                ) from error
            # A module may return the tensor that it changes with the next sample.
            rows.append([x.detach().clone() for x in leaves if isinstance(x, torch.Tensor)])
    return tuple(torch.stack(list(column)).numpy() for column in zip(*rows, strict=True))
