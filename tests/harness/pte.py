"""Reads programs with ExecuTorch's own reader, for comparison."""

from __future__ import annotations

from collections import Counter
from typing import Any


def plan(data: bytes) -> Any:
    """ExecuTorch's execution plan of a program's first method."""
    from executorch.exir._serialize._program import deserialize_pte_binary

    return deserialize_pte_binary(data).program.execution_plan[0]


def operators(data: bytes) -> Counter[str]:
    """How often a program calls each operator, without the overload: `cortex_m::pad`."""
    method = plan(data)
    calls = (call.instr_args for chain in method.chains for call in chain.instructions)
    return Counter(method.operators[call.op_index].name for call in calls)
