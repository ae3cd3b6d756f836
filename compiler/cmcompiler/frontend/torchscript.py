"""Modules of TorchScript as graphs of torch.export. Importing it imports torch."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from cmcompiler.errors import Unsupported

_CLOSE = 1e-5


def exported(module: torch.jit.ScriptModule, inputs: Sequence[Tensor]) -> torch.nn.Module:
    """The module's own graph, if torch's converter takes it and it computes the same.

    Raises:
        Unsupported: it does not.
    """
    try:
        graph = _converted(module, tuple(inputs))
        with torch.no_grad():
            pairs = zip(
                tree_leaves(graph(*inputs)), tree_leaves(module.eval()(*inputs)), strict=True
            )
            if all(torch.allclose(made, real, _CLOSE, _CLOSE) for made, real in pairs):
                return graph
        reason = "its graph computes something else"
    except Exception as error:  # torch's converter raises anything
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
    raise Unsupported(
        f"this module of TorchScript cannot be exported: {reason}",
        "give the eager module that was scripted or traced; "
        "load_state_dict(scripted.state_dict()) gives it the same weights",
    )


def _converted(module: torch.jit.ScriptModule, inputs: tuple[Tensor, ...]) -> torch.nn.Module:
    from torch._export.converter import TS2EPConverter

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        converter = TS2EPConverter(module.eval(), inputs)
        graph: torch.nn.Module = converter.convert().module(check_guards=False)
    return graph
