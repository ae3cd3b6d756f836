"""Floating-point and MVE instructions from the words of a disassembler.

Pipes, beats and latencies are those of LLVM's scheduling model of the Cortex-M55
(ARMScheduleM55.td), which gives them as facts of the core.
"""

from __future__ import annotations

import re

from cmbuild.cycles.instruction import Instruction, Kind, Pipe, Vector
from cmbuild.cycles.registers import core_registers, split_operands, vector_registers

_TRANSFER = re.compile(r"v(ldr|str|ld[24]|st[24]|ldm|stm|push|pop)")
_MULTIPLE = ("ldm", "stm", "push", "pop")
_MULTIPLY_PIPE = re.compile(
    r"v(addl?v|mul|mull|fm|fn|r?ml[as]|q?r?d?ml|q?r?d?mul|cmp|pt|cvt|maxnm|minnm|rint|abdf|cmul"
    r"|cmla|div|sqrt|neg\.f|abs\.f|add\.f|sub\.f|mov|ins|sel|mrs|msr)"
)
_THREE_CYCLES = re.compile(
    r"v(addl?v|adc|sbc|mul|mull|fm|r?ml[as]|q?r?d?ml|q?r?d?mul|cvt|rint|q?rshl|qshl|rshr|max?v"
    r"|minv|maxav|minav)"
)
_FOUR_CYCLES = re.compile(r"v(movn|qmov|q?r?shru?n)")
_ACCUMULATES = re.compile(
    r"v(r?ml[as]|q?r?d?ml|fm[as]|addl?v\w*a|movn|qmovn|qmovun|q?r?shr\w*n|mov[nt]|sli|sri|mla)"
)
_KNOWN = re.compile(
    r"v(abav|abd|abs|adc|add|and|bic|brsr|cadd|cls|clz|cmla|cmp|cmul|cvt|ddup|div|dup|dwdup|eor"
    r"|fm|fn|hadd|hcadd|hsub|idup|ins|iwdup|log|max|min|mla|mls|mov|mrs|msr|mul|mvn|neg|nm|orn"
    r"|orr|psel|pt|q|rev|rhadd|rint|rml|rmul|rsh|sbc|sel|shl|shr|sli|sqrt|sri|sub)"
)
_TWO_RESULTS = re.compile(r"v(r?ml[as]l|addlv)")
_NO_RESULT = re.compile(r"v(cmp|pt)")
_PREDICATES = ("vpst", "vctp", "vpnot")


def decode(address: int, size: int, text: str, operation: str, operands: str) -> Instruction | None:
    if _TRANSFER.match(operation) is not None:
        return _transfer(address, size, text, operation, operands)
    parts = [(*core_registers(part), *vector_registers(part)) for part in split_operands(operands)]
    everything = tuple(register for part in parts for register in part)
    if operation.startswith(_PREDICATES):
        vector = Vector(operation, Pipe.PREDICATE, 1, 1)
        return Instruction(
            *(address, size, text, operation, Kind.VECTOR), reads=everything, vector=vector
        )
    if _KNOWN.match(operation) is None:
        return None
    results = _results(operation, operands, parts)
    writes = tuple(register for part in parts[:results] for register in part)
    return Instruction(
        *(address, size, text, operation, Kind.VECTOR),
        reads=tuple(register for part in parts[results:] for register in part),
        addends=writes if _ACCUMULATES.match(operation) else (),
        writes=writes,
        vector=_arithmetic(operation, is_mve=any(r[0] == "q" for r in everything)),
    )


def _results(operation: str, operands: str, parts: list[tuple[str, ...]]) -> int:
    if _NO_RESULT.match(operation):
        return 0
    is_double_move = operation.startswith("vmov") and len(parts) >= 4
    is_double_move = is_double_move and not operands.startswith("q")
    return 2 if _TWO_RESULTS.match(operation) or is_double_move else 1


def _arithmetic(operation: str, is_mve: bool) -> Vector:
    moves_bits = operation.startswith(("vmovn", "vmovl"))
    is_multiply = bool(_MULTIPLY_PIPE.match(operation)) and not moves_bits
    latency = 3 if _FOUR_CYCLES.match(operation) else 2 if _THREE_CYCLES.match(operation) else 1
    if operation.startswith(("vdiv", "vsqrt")):
        latency = 16
    pipe = Pipe.MULTIPLY if is_multiply else Pipe.INTEGER
    return Vector(operation, pipe, 2 if is_mve else 1, latency)


def _transfer(address: int, size: int, text: str, operation: str, operands: str) -> Instruction:
    name = operation[1:].partition(".")[0]
    bracket = re.search(r"\[(.*?)\]", operands)
    place: tuple[str, ...] = ()
    if bracket is not None:
        place = (*core_registers(bracket[1]), *vector_registers(bracket[1]))
    elif name.startswith(("ldm", "stm")):
        place = core_registers(operands)[:1]
    listed = vector_registers(operands[: bracket.start()] if bracket else operands)
    after = operands[bracket.end() :] if bracket else ""
    writes_back = bool(re.match(r"\s*(!|,)", after)) if bracket else "!" in operands
    base = tuple(r for r in place[:1] if writes_back and r.startswith("r"))
    is_load, is_multiple = name.startswith(("ld", "pop")), name.startswith(_MULTIPLE)
    is_gather = any(not register.startswith("r") for register in place)
    is_mve = bool(re.match(r"v(ldr|str)[bhwd]|v(ld|st)[24]", operation))
    vector = Vector(
        operation,
        Pipe.MEMORY,
        beats=2 if is_mve else 1,
        latency=1 if is_load and not is_gather else 2,
        is_multiple=is_multiple,
    )
    return Instruction(
        *(address, size, text, operation, Kind.VECTOR),
        reads=() if is_load else listed,
        address_registers=place,
        writes=(*listed, *base) if is_load else base,
        count=max(1, len(listed)) if is_multiple else 1,
        writes_back=writes_back,
        vector=vector,
    )
