"""Reports all operators without a reader in one message."""

from __future__ import annotations

from collections.abc import Container

from cmcompiler.errors import Unsupported
from cmcompiler.pte import escaping
from cmcompiler.pte.program import KernelInstruction, Method


def refuse_unknown(method: Method, known: Container[str]) -> None:
    """Refuses a method with operators that are not known.

    Raises:
        Unsupported: names each such operator, its count, and its first instruction with shapes.
    """
    first: dict[str, tuple[int, KernelInstruction]] = {}
    counts: dict[str, int] = {}
    for number, instruction in enumerate(method.instructions):
        if not isinstance(instruction, KernelInstruction) or instruction.operator in known:
            continue
        first.setdefault(instruction.operator, (number, instruction))
        counts[instruction.operator] = counts.get(instruction.operator, 0) + 1
    if not first:
        return
    parts = [
        f"{operator} ({counts[operator]}×, first #{number}: {escaping.shapes(call, method.values)})"
        for operator, (number, call) in first.items()
    ]
    raise Unsupported(
        f"no kernel for {len(parts)} operator{'s' if len(parts) > 1 else ''}: {', '.join(parts)}",
        "remove them from the model, or add kernels for them: docs/adding-an-op.md",
    )
