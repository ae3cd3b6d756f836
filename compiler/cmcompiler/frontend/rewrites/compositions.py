"""Writes out operators that torch composes of others, where no rule takes them as a whole."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch._decomp import decomposition_table
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.node import map_arg
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from cmcompiler.frontend.rewrites.editing import fake, insert, replace

_COMPOSED = {
    *("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "cartesian_prod"),
    *("column_stack", "dsplit", "dstack", "fliplr", "flipud", "hsplit", "hstack", "movedim"),
    *("meshgrid", "narrow", "ravel", "row_stack", "tensor_split", "vsplit", "vstack"),
    *("addbmm", "addr", "chain_matmul", "diag", "diag_embed", "diagflat", "inner", "kron"),
    *("linalg_cross", "linalg_diagonal", "linalg_matrix_power", "linalg_multi_dot", "block_diag"),
    *("linalg_vecdot", "matrix_power", "outer", "trace", "vdot"),
    *("aminmax", "cumulative_trapezoid", "gradient"),
    *("adjoint", "fft_fftshift", "fft_ifftshift", "mH", "mT", "matrix_H", "numpy_T"),
    *("huber_loss", "l1_loss", "mse_loss", "nansum", "smooth_l1_loss", "trapezoid", "trapz"),
}
"""Names of operators without rules of their own."""


def write_out_compositions(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        operator = node.target
        if not isinstance(operator, OpOverload) or operator.namespace != "aten":
            continue
        value = node.meta.get("val")
        if isinstance(value, Tensor) and value.is_complex():
            continue
        if operator._schema.name.removeprefix("aten::") in _COMPOSED:
            _write_out(node, operator)


def _write_out(node: Node, operator: OpOverload) -> None:
    given, form = tree_flatten((node.args, node.kwargs))
    operands = [each for each in given if isinstance(each, Node)]

    def compute(*values: Any) -> Any:
        ahead = iter(values)
        args, kwargs = tree_unflatten(
            [next(ahead) if isinstance(each, Node) else each for each in given], form
        )
        return operator(*args, **kwargs)

    own = {operator: decomposition_table[operator]} if operator in decomposition_table else {}
    traced = make_fx(compute, own)(*map(fake, operands))
    parts = list(traced.graph.nodes)
    if any(part.op == "get_attr" or part.target is operator for part in parts):
        return
    made: dict[Node, Any] = {}
    ahead = iter(operands)
    for part in parts:
        if part.op == "placeholder":
            made[part] = next(ahead)
        elif part.op == "call_function":
            args, kwargs = map_arg((part.args, part.kwargs), made.__getitem__)
            made[part] = insert(node, part.target, *args, **kwargs)
    (result,) = next(part for part in reversed(parts) if part.op == "output").args
    results: Any = map_arg(result, made.__getitem__)
    if isinstance(results, Node):
        replace(node, results)
        return
    leaves = tree_leaves(results)
    for user in list(node.users):
        place: Any = user.args[1]
        replace(user, leaves[place])
