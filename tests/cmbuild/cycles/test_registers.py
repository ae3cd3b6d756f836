"""Registers in operands."""

from __future__ import annotations

from cmbuild.cycles.registers import core_registers, split_operands, vector_registers


def test_lists_ranges_and_aliases_are_resolved() -> None:
    assert core_registers("{r4-r6, sl, lr}") == ("r4", "r5", "r6", "r10", "r14")
    assert core_registers("[sp, #4]!") == ("r13",)
    assert core_registers("100 <r3_of_a_name>") == ()
    assert vector_registers("{d8-d10}, q0") == ("d8", "d9", "d10", "q0")


def test_brackets_and_braces_stay_whole() -> None:
    assert split_operands("r0, [r1, r2, lsl #2], #4") == ["r0", "[r1, r2, lsl #2]", "#4"]
    assert split_operands("r0!, {r1, r2}") == ["r0!", "{r1, r2}"]
    assert split_operands("") == []
