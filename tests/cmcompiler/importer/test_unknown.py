"""Programs with operators that no kernel computes."""

from __future__ import annotations

import pytest
from harness.commands import NETWORK

from cmcompiler.errors import Unsupported
from cmcompiler.importer.unknown import refuse_unknown
from cmcompiler.pte.program import KernelInstruction
from cmcompiler.pte.reader import read_program


def test_each_unknown_operator_is_named_with_its_count_and_shapes() -> None:
    method = read_program(NETWORK.read_bytes()).methods[0]
    calls = [i for i in method.instructions if isinstance(i, KernelInstruction)]
    names = {call.operator for call in calls}
    refuse_unknown(method, names)
    first = calls[0].operator
    count = sum(call.operator == first for call in calls)
    with pytest.raises(Unsupported, match="no kernel for 1 operator: ") as error:
        refuse_unknown(method, names - {first})
    assert f"{first} ({count}×, first #" in error.value.message
    with pytest.raises(Unsupported, match=f"no kernel for {len(names)} operators: "):
        refuse_unknown(method, ())
