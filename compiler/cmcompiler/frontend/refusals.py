"""Refuses graphs that no program can compute, at the user's line. Importing it imports torch."""

from __future__ import annotations

from collections.abc import Mapping
from operator import getitem

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.call_sites import CallSite, marked
from cmcompiler.frontend.expression import operators_of
from cmcompiler.frontend.hints import OWN
from cmcompiler.frontend.quantized_op import QUANTIZED
from cmcompiler.frontend.rewrites.channels import LAYERS
from cmcompiler.frontend.rewrites.constants import value_of
from cmcompiler.frontend.rewrites.editing import fake, named_arguments
from cmcompiler.usercode import is_library, module_place, shown

_aten = torch.ops.aten
_POOLS = {
    *(_aten.max_pool1d_with_indices.default, _aten.max_pool2d_with_indices.default),
    *(_aten.max_pool3d_with_indices.default, _aten.adaptive_max_pool2d.default),
    *(_aten.fractional_max_pool2d.default, _aten.fractional_max_pool3d.default),
}
"""With indices as second results."""
_CONVOLUTIONS = {
    *(_aten.conv2d.default, _aten.conv2d.padding, _aten.conv3d.default, _aten.conv3d.padding),
    *(_aten.conv_transpose2d.input, _aten.conv_transpose3d.input),
}
"""As rewrites leave them."""
_FACTORISATIONS = {
    *("linalg_inv", "linalg_inv_ex", "inverse", "linalg_pinv", "pinverse", "linalg_lstsq"),
    *("linalg_solve", "linalg_solve_ex", "_linalg_solve_ex", "linalg_solve_triangular"),
    *("triangular_solve", "cholesky_solve", "linalg_det", "_linalg_det", "det", "logdet"),
    *("linalg_slogdet", "_linalg_slogdet", "slogdet", "linalg_svd", "_linalg_svd", "svd"),
    *("linalg_eig", "linalg_eigh", "_linalg_eigh", "linalg_eigvals", "_linalg_eigvals"),
    *("linalg_eigvalsh", "linalg_qr", "qr", "linalg_cholesky", "linalg_cholesky_ex", "cholesky"),
    *("linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex", "linalg_ldl_factor"),
    *("linalg_matrix_exp", "matrix_exp", "linalg_matrix_rank", "linalg_svdvals", "linalg_cond"),
}
"""Operators that solve or factor matrices."""
_PUT_ELSEWHERE = {
    "masked_scatter": "choose with torch.where(mask, values, x), values in the shape of x",
    "diagonal_scatter": "choose with torch.where(torch.eye(n, dtype=torch.bool), values, x)",
    "as_strided_scatter": "choose with torch.where and a mask, as of torch.eye for a diagonal",
    "fill_diagonal_": "choose with torch.where and a mask, as of torch.eye for a diagonal",
    "set": "write the numbers: buffer.copy_(x)",
}
"""Operators that write numbers where no slice or index says, and what does the same."""
_SUMS = {"sum", "mean", "prod"}
_MASKED = "keep the size and multiply by the mask, or choose with torch.where"
_SIZED = {
    "repeat_interleave": "index with constant places: x[:, places], with "
    "places = torch.repeat_interleave(torch.arange(n), repeats) made in __init__"
}
"""What keeps the size of a result, by operator, where no mask does."""
_NAMESPACES = {"aten", "prim", "prims", "cmbuild", "quantized_decomposed"}
_SWITCHES = {"train": False, "training": False, "p": 0, "dropout_p": 0, "dropout": 0}
"""Arguments of operators that draw random numbers, and the values with which they draw none."""


def refuse(graph: GraphModule, call_sites: Mapping[str, CallSite]) -> None:
    """
    Raises:
        Unsupported: sizes or weights depend on values, something uses the indices of a pool whose
            windows differ, normalises by a batch to keep its statistics, sums no elements, factors
            matrices, draws random numbers, is sparse or complex, or has weights that are empty or
            not finite.
    """
    for node in graph.graph.nodes:
        value = node.meta.get("val")
        sizes = value.shape if isinstance(value, Tensor) else ()
        place = place_of(node, call_sites)
        name = operator_name(node) if node.op == "call_function" else ""
        if any(isinstance(size, torch.SymInt) for size in sizes):
            raise Unsupported(
                f"{place}the size of the result of {name} depends on values",
                _SIZED.get(name, _MASKED),
            )
        if node.target in _POOLS and any(user.args[1] and user.users for user in node.users):
            raise Unsupported(
                f"{place}the indices of {name} are used, whose windows differ",
                "pool without padding and ceil_mode, to sizes that divide the image's, "
                "or upsample: torch.nn.Upsample",
            )
        if node.target in _CONVOLUTIONS and value_of(node.args[1]) is None:
            raise Unsupported(
                f"{place}the weights of {name} depend on inputs",
                "multiply with torch.matmul, as with torch.nn.functional.unfold or fold",
            )
        if node.target in LAYERS and 0 in node.args[1].meta["val"].shape:
            raise Unsupported(
                f"{place}{name} has no channels: its weights are empty",
                "leave the layer out, or give it a channel",
            )
        _refuse_statistics(node, name, place)
        if _is_foreign(node):
            raise Unsupported(f"{place}no kernel for {node.target._schema.name}", OWN)
        if name in _FACTORISATIONS:
            raise Unsupported(
                f"{place}{name} of values: boards neither solve nor factor matrices",
                "do it before the model, or write out the formula, as for a matrix of 2×2",
            )
        if name in _PUT_ELSEWHERE and node.users:
            raise Unsupported(f"{place}no kernel for {name}", _PUT_ELSEWHERE[name])
        if node.users and _draws(node):
            raise Unsupported(
                f"{place}{name} draws random numbers in each run",
                "write F.dropout(x, training=self.training)"
                if "dropout" in name
                else "give the random numbers to the model as another input",
            )
        if isinstance(value, Tensor) and value.layout is not torch.strided:
            raise Unsupported(f"{place}the result of {name} is sparse", "keep it dense")
        is_complex = isinstance(value, Tensor) and value.is_complex()
        if is_complex and any(user.op == "output" for user in node.users):
            raise Unsupported(
                f"{place}the result of {name} is complex",
                "return its parts as real numbers: torch.view_as_real",
            )
        if node.target in {*LAYERS, _aten.embedding.default} and not _is_finite(node):
            raise Unsupported(
                f"{place}the weights of {name} are not finite: inf or NaN is among them",
                "train again, or replace them: torch.nan_to_num",
            )


def _refuse_statistics(node: Node, name: str, place: str) -> None:
    """
    Raises:
        Unsupported: a batch norm keeps the statistics of its batch, or a sum has no elements.
    """
    if node.target is _aten.batch_norm.default and named_arguments(node)["training"]:
        raise Unsupported(
            f"{place}batch_norm in training mode writes its running statistics",
            "call eval() on the layer; or keep none: track_running_stats=False",
        )
    if name in _SUMS and 0 in fake(node.all_input_nodes[0]).shape:
        raise Unsupported(
            f"{place}{name} of no elements",
            "leave it out, or write its value: x.new_zeros(shape)",
        )


def _is_foreign(node: Node) -> bool:
    """Whether an operator of other libraries or the user has no int8 form, parts or out variant."""
    target = node.target
    if not isinstance(target, OpOverload) or target.namespace in _NAMESPACES or target in QUANTIZED:
        return False
    name = target._schema.name
    has_parts = torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd")
    return not has_parts and "out" not in target.overloadpacket.overloads()


def _draws(node: Node) -> bool:
    target = node.target
    if not isinstance(target, OpOverload):
        return False
    if torch.Tag.nondeterministic_seeded not in target.tags:
        return False
    given = named_arguments(node)
    return not any(name in given and given[name] == off for name, off in _SWITCHES.items())


def _is_finite(layer: Node) -> bool:
    given = named_arguments(layer)
    held = (value_of(given.get(name)) for name in ("weight", "bias"))
    return all(value is None or bool(value.isfinite().all()) for value in held)


def place_of(node: Node, call_sites: Mapping[str, CallSite]) -> str:
    """The user's line, for the beginning of a message."""
    site = call_sites.get(marked(node) or node.name)
    if site is None:
        return ""
    if site.file is None or is_library(site.file):
        return f"{module_place(site.module)}: " if site.module else ""
    return f"{shown(site.file)}:{site.line}: "


def operator_name(node: Node) -> str:
    """The operator's name; of one of its results, too."""
    while node.target is getitem and isinstance(node.args[0], Node):
        node = node.args[0]
    if node.target is torch.ops.cmbuild.function.default:
        return " → ".join(operators_of(str(node.args[1])))
    if isinstance(node.target, OpOverload):
        return str(node.target._schema.name.partition("::")[2])
    return node.name
