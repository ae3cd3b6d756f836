"""The C text of a plan, formatted for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from cmcompiler.ir.graph import Port
from cmcompiler.ir.op import TILES
from cmcompiler.plan.plan import Argument, Base, Plan, PlanStep, Ref, StateBuffer

_C_FILE = """\
/* {title} */
#include "model.h"

/* Words of the kernels' arguments: places in the arena and in the constants, and plain bits. */
#define ARENA(offset) offset
#define CONSTANT(offset) ((int32_t)(CM_REF_CONSTANT | UINT32_C(offset)))
#define BITS(word) ((int32_t)UINT32_C(word))

extern const uint8_t {name}_weights[];
{kernels}{tiles}
{words}{tables}
const struct cm_program {name}_program = {{
    .steps = {steps},
    .step_count = {step_count},
    .inputs = {inputs},
    .input_count = {input_count},
    .outputs = {outputs},
    .output_count = {output_count},
    .states = {states},
    .state_count = {state_count},
    .constants = {name}_weights,
    .constant_bytes = {constant_bytes},
    .arena_bytes = {arena}_ARENA_BYTES,
    .identity = "{identity}",
}};
"""

_TILES = """
/* Links what runs of steps need. */
extern cm_tiler *const {name}_tiler;
cm_tiler *const {name}_tiler = cm_take_tiles;
"""

_HEADER = """\
/* {title} */
#ifndef {macro}_MODEL_H
#define {macro}_MODEL_H

#include "cmrt/program.h"

/* Memory for all activations, aligned to 16 bytes. */
#define {macro}_ARENA_BYTES {arena_bytes}

extern const struct cm_program {name}_program;

/* The model of an image that has one. */
#ifndef CM_MODEL_PROGRAM
#define CM_MODEL_PROGRAM {name}_program
#define CM_MODEL_ARENA_BYTES {macro}_ARENA_BYTES
#endif

#endif
"""


def identifier(name: str) -> str:
    """A model's name as the prefix of C symbols: letters, digits and underscores."""
    plain = re.sub(r"[^0-9a-z]+", "_", name.lower()).strip("_")
    return plain if plain and not plain[0].isdigit() else f"model_{plain}".rstrip("_")


def c_file(plan: Plan, name: str, identity: str) -> str:
    """model.c: per step its argument words, then tables of steps and ports, then the program."""
    kernels = sorted({step.kernel for step in plan.steps if step.is_call})
    steps = map(_step_row, range(len(plan.steps)), plan.steps)
    inputs = (_port_row(plan, port) for port in plan.inputs)
    outputs = (_port_row(plan, port) for port in plan.outputs)
    tables = {
        "steps": table("struct cm_step", "steps", steps),
        "inputs": table("struct cm_port", "inputs", inputs),
        "outputs": table("struct cm_port", "outputs", outputs),
        "states": table("struct cm_state", "states", map(_state_row, plan.states)),
    }
    return _C_FILE.format(
        title=_title(plan, name),
        name=name,
        kernels="".join(f"cm_kernel cm_{kernel};\n" for kernel in kernels),
        tiles=_TILES.format(name=name) if any(s.kernel == TILES for s in plan.steps) else "",
        words="\n".join(_words(index, step) for index, step in enumerate(plan.steps)),
        tables="".join(tables.values()),
        **{key: key if text else "NULL" for key, text in tables.items()},
        step_count=len(plan.steps),
        input_count=len(plan.inputs),
        output_count=len(plan.outputs),
        state_count=len(plan.states),
        constant_bytes=len(plan.constants),
        arena=name.upper(),
        identity=identity,
    )


def header(plan: Plan, name: str) -> str:
    """model.h: the program, and the size of the arena that its image has to provide."""
    return _HEADER.format(
        title=_title(plan, name), name=name, macro=name.upper(), arena_bytes=plan.arena_bytes
    )


def _title(plan: Plan, name: str) -> str:
    return comment(f"{name}, planned for {plan.isa.label}: {len(plan.steps)} kernel calls.")


def _words(index: int, step: PlanStep) -> str:
    lines = [f"/* {index}: {comment(step.title)}, {comment(step.source)} */"]
    lines.append(f"static const int32_t words_{index}[] = {{")
    lines.extend(f"    {_word(a)}, /* {comment(_meaning(a))} */" for a in step.words)
    lines.append("};\n")
    return "\n".join(lines)


def _word(argument: Argument) -> str:
    value, word = argument.value, argument.word
    if isinstance(value, Ref):
        macro = "CONSTANT" if value.base is Base.CONSTANTS else "ARENA"
        return f"{macro}({value.offset})"
    if isinstance(value, float) or value >= 1 << 31:
        return f"BITS(0x{word:08x})"
    return "INT32_MIN" if value == -(1 << 31) else str(value)


def _meaning(argument: Argument) -> str:
    if isinstance(argument.value, float):
        return f"{argument.name} = {argument.value!r}"
    return argument.name


def _step_row(index: int, step: PlanStep) -> str:
    y0, y1 = step.rows
    kernel = f"cm_{step.kernel}" if step.is_call else "NULL"
    return f"{{{kernel}, {{words_{index}, {y0}, {y1}}}}}, /* {comment(step.title)} */"


def _port_row(plan: Plan, port: Port) -> str:
    place = "CM_REF_NONE" if port.fed else f"0x{plan.places[port.tensor].word:08x}"
    return f"{{{place}, {port.tensor.nbytes}}}, /* {comment(port.name)} */"


def _state_row(buffer: StateBuffer) -> str:
    initial = "CM_REF_NONE" if buffer.initial is None else f"0x{buffer.initial.word:08x}"
    place, name = buffer.span.ref.word, comment(buffer.tensor.name)
    return f"{{0x{place:08x}, {initial}, {buffer.span.size}}}, /* {name} */"


def table(kind: str, name: str, rows: Iterable[str]) -> str:
    """An array; nothing if empty, since C does not allow empty arrays."""
    lines: Sequence[str] = list(rows)
    if not lines:
        return ""
    body = "".join(f"    {line}\n" for line in lines)
    return f"\nstatic const {kind} {name}[] = {{\n{body}}};\n"


def comment(text: str) -> str:
    """Escapes any text for a comment."""
    printable = "".join(c if c.isprintable() else "?" for c in text)
    return printable.replace("\\", "/").replace("*/", "* /").replace("/*", "/ *")
