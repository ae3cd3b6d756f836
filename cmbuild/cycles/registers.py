"""Registers in the operands of an instruction."""

from __future__ import annotations

import re

_ALIASES = {"sl": 10, "fp": 11, "ip": 12, "sp": 13, "lr": 14, "pc": 15}
_CORE = r"(r\d+|sl|fp|ip|sp|lr|pc)"
_CORE_RANGE = re.compile(rf"\b{_CORE}\b(?:-{_CORE}\b)?")
_VECTOR_RANGE = re.compile(r"\b([qsd])(\d+)(?:-[qsd](\d+))?")


def core_registers(operands: str) -> tuple[str, ...]:
    """`{r4-r6, lr}` as r4, r5, r6, r14."""
    names = []
    for match in _CORE_RANGE.finditer(operands):
        first = _number(match[1])
        last = _number(match[2]) if match[2] else first
        names += [f"r{number}" for number in range(first, last + 1)]
    return tuple(names)


def vector_registers(operands: str) -> tuple[str, ...]:
    """`{s16-s18}` as s16, s17, s18."""
    return tuple(
        f"{match[1]}{number}"
        for match in _VECTOR_RANGE.finditer(operands)
        for number in range(int(match[2]), int(match[3] or match[2]) + 1)
    )


def split_operands(operands: str) -> list[str]:
    """At the commas outside of brackets and braces."""
    return [part.strip() for part in re.split(r",(?![^\[{]*[\]}])", operands)] if operands else []


def _number(name: str) -> int:
    return _ALIASES[name] if name in _ALIASES else int(name[1:])
