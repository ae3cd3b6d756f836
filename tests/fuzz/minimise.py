"""The smallest program that fails like a given one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from harness.program_file import write_program

from cmcompiler.errors import CompilerError
from cmcompiler.pte.program import Method, Program, TensorValue
from cmcompiler.pte.reader import read_program
from fuzz.program_mutations import fitted, with_value

MOST_TRIALS = 300


def minimise(data: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """Leaves out instructions, ports and values, and makes sizes small, as long as it fails."""
    try:
        method = next(m for m in read_program(data).methods if isinstance(m, Method))
    except (CompilerError, StopIteration):
        return data
    if not fails(write_program(Program(0, (method,)))):
        return data
    trials, progress = 0, True
    while progress and trials < MOST_TRIALS:
        progress = False
        for smaller in _smaller(method):
            trials += 1
            if trials >= MOST_TRIALS:
                break
            if fails(write_program(Program(0, (smaller,)))):
                method, progress = smaller, True
                break
    return write_program(Program(0, (method,)))


def _smaller(method: Method) -> Iterator[Method]:
    for index in range(len(method.instructions)):
        rest = (*method.instructions[:index], *method.instructions[index + 1 :])
        yield replace(method, instructions=rest)
    for index in range(len(method.outputs)):
        yield replace(method, outputs=(*method.outputs[:index], *method.outputs[index + 1 :]))
    used = {*method.inputs, *method.outputs}
    for instruction in method.instructions:
        used.update(getattr(instruction, "arguments", ()))
    for index, value in enumerate(method.values):
        if index not in used and value is not None and not isinstance(value, TensorValue):
            yield with_value(method, index, None)
    for index, value in enumerate(method.values):
        if isinstance(value, TensorValue):
            for place, size in enumerate(value.sizes):
                if size > 1:
                    sizes = (*value.sizes[:place], 1, *value.sizes[place + 1 :])
                    yield with_value(method, index, fitted(replace(value, sizes=sizes)))
