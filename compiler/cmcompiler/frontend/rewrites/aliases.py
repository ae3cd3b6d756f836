"""Spells operators that torch has under several names by the name for which there are rules."""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from cmcompiler.frontend.rewrites.editing import insert, replace

_ATEN: Any = torch.ops.aten
_NAMES = {
    **{"multiply": "mul", "subtract": "sub", "divide": "div", "true_divide": "div"},
    **{"absolute": "abs", "negative": "neg", "fix": "trunc", "concat": "cat", "concatenate": "cat"},
    **{"greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le"},
    **{"not_equal": "ne", "arctan2": "atan2", "ger": "outer", "linalg_matmul": "matmul"},
    **{f"arc{name}": f"a{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    **{"swapaxes": "transpose", "swapdims": "transpose", "moveaxis": "movedim"},
    **{"special_expit": "sigmoid", "special_psi": "digamma", "special_gammaln": "lgamma"},
    **{
        f"special_{name}": name
        for name in ("digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "i0", "log1p", "logit")
    },
    **{
        f"special_{name}": name for name in ("log_softmax", "logsumexp", "sinc", "softmax", "xlogy")
    },
}
"""By the other name of the operator; both take the same arguments."""
_OVERLOADS = {
    **{("transpose", "default"): "int", ("log_softmax", "default"): "int"},
    **{("softmax", "default"): "int", ("xlogy", "default"): "Tensor"},
    **{("xlogy", "other_scalar"): "Scalar_Other", ("xlogy", "self_scalar"): "Scalar_Self"},
}
"""Overloads that have another name, too."""


_PLACES = {_ATEN.max.dim: _ATEN.argmax.default, _ATEN.min.dim: _ATEN.argmin.default}


def spell_aliases(module: GraphModule) -> None:
    for node in list(module.graph.nodes):
        if isinstance(node.target, OpOverload) and node.target.namespace == "aten":
            node.target = _canonical(node.target)
        if node.target in _PLACES:
            _spell_places(node)


def _spell_places(node: Node) -> None:
    """Has what reads nothing but the places of extremes, as `x.max(1)[1]`, read an argmax."""
    results = [user for user in node.users if user.users]
    if any(user.args[1] != 1 for user in results):
        return
    for user in results:
        replace(user, insert(user, _PLACES[node.target], *node.args, **node.kwargs))


def _canonical(operator: OpOverload) -> OpOverload:
    own = operator._schema.name.removeprefix("aten::")
    is_writing = own.endswith("_")
    name = _NAMES.get(own.removesuffix("_"))
    if name is None:
        return operator
    overload = _OVERLOADS.get((name, operator._overloadname), operator._overloadname)
    made = getattr(getattr(_ATEN, name + "_" * is_writing, None), overload, operator)
    return made if isinstance(made, OpOverload) else operator
