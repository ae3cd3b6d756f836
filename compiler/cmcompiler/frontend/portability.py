"""Which operators ExecuTorch's own runtime has."""

from __future__ import annotations

from collections.abc import Iterable

from cmcompiler.errors import Unsupported

UPSTREAM = ("aten", "cortex_m", "dim_order_ops", "executorch_prim", "quantized_decomposed")
"""Namespaces of ExecuTorch's operators for Cortex-M."""


def lacking(operators: Iterable[str]) -> tuple[str, ...]:
    """Operators of other namespaces, `mine::twice` of `mine::twice.out`, each once and sorted.

    Args:
        operators: full names.
    """
    names = {operator.partition(".")[0] for operator in operators}
    return tuple(sorted(name for name in names if name.partition("::")[0] not in UPSTREAM))


def refuse_lacking(operators: Iterable[str]) -> None:
    """
    Raises:
        Unsupported: some operators are of other namespaces.
    """
    if names := lacking(operators):
        raise Unsupported(
            f"ExecuTorch's runtime does not have {', '.join(names)}", "omit --portable"
        )
