"""The files of a program for ExecuTorch's runtime: the `.pte` and its tables.

File names are those of a plan: model.c, model.h, model.S, weights.bin, plan.json.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from cmcompiler.emit.constants import assembly
from cmcompiler.emit.files import ASSEMBLY, C_FILE, HEADER, RECORD, WEIGHTS
from cmcompiler.emit.recording import port_record
from cmcompiler.emit.source import comment, identifier, table
from cmcompiler.executorch.plan import ExecutorchPlan, ExecutorchStep, Extent, TensorArgument
from cmcompiler.isa import Isa
from cmcompiler.plan.record import PlaceRecord, PlanRecord, StepRecord, TensorRecord

_C_FILE = """\
/* {title} */
#include "model.h"

#include <stddef.h>

extern const uint8_t {name}_weights[];
{tables}
const struct cm_executorch_program {name}_executorch = {{
    .program = {name}_weights,
    .program_bytes = {program_bytes},
    .method = {method},
    .identity = "{identity}",
    .buffers = {buffers},
    .buffer_count = {buffer_count},
    .inputs = {inputs},
    .input_count = {input_count},
    .outputs = {outputs},
    .output_count = {output_count},
    .operators = {operators},
    .operator_count = {operator_count},
    .steps = {steps},
    .step_count = {step_count},
    .stepwise = {stepwise},
    .arena_bytes = CM_MODEL_ARENA_BYTES,
}};
"""

_HEADER = """\
/* {title} */
#ifndef {macro}_MODEL_H
#define {macro}_MODEL_H

#include "cmrt/executorch.h"

extern const struct cm_executorch_program {name}_executorch;

#define CM_MODEL_PROGRAM {name}_executorch
#define CM_MODEL_ARENA_BYTES {arena_bytes}
#define CM_MODEL_BUFFERS {buffer_count}
#define CM_MODEL_ARGUMENTS {most_arguments} /* of one instruction */

#endif
"""


def emit_executorch(
    plan: ExecutorchPlan, isa: Isa, folder: Path, program: bytes, name: str
) -> PlanRecord:
    """Writes the files into an existing folder; the same program gives the same bytes.

    Args:
        isa: the program's instruction set.
        name: of the model; becomes the prefix of all symbols.

    Returns: the contents of plan.json.
    """
    prefix = identifier(name)
    digest = hashlib.sha256(program)
    digest.update(_c_file(plan, prefix, len(program), "").encode())
    identity = digest.hexdigest()[:32]
    record = _record(plan, isa, prefix, identity, len(program))
    header = _HEADER.format(
        title=_title(plan, prefix),
        name=prefix,
        macro=prefix.upper(),
        arena_bytes=plan.arena_bytes,
        buffer_count=len(plan.buffers),
        most_arguments=plan.most_arguments,
    )
    c_file = _c_file(plan, prefix, len(program), identity)
    (folder / C_FILE).write_text(c_file, encoding="utf-8")
    (folder / HEADER).write_text(header, encoding="utf-8")
    (folder / ASSEMBLY).write_text(assembly(prefix, WEIGHTS), encoding="utf-8")
    (folder / WEIGHTS).write_bytes(program)
    (folder / RECORD).write_text(record.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return record


def _title(plan: ExecutorchPlan, name: str) -> str:
    return comment(f"{name}, a program for ExecuTorch's runtime: {len(plan.steps)} steps.")


def _c_file(plan: ExecutorchPlan, name: str, program_bytes: int, identity: str) -> str:
    tables = {
        "buffers": table("struct cm_extent", "buffers", map(_extent, plan.buffers)),
        "inputs": table("struct cm_argument", "inputs", map(_argument, plan.inputs)),
        "outputs": table("struct cm_argument", "outputs", map(_argument, plan.outputs)),
        "operators": table("char *const", "operators", _strings(plan.operators)),
        "steps": table("char *const", "steps", _strings(step.source for step in plan.steps)),
    }
    return _C_FILE.format(
        title=_title(plan, name),
        name=name,
        tables="".join(tables.values()),
        **{key: key if text else "NULL" for key, text in tables.items()},
        program_bytes=program_bytes,
        method=_string(plan.method.name),
        identity=identity,
        buffer_count=len(plan.buffers),
        input_count=len(plan.inputs),
        output_count=len(plan.outputs),
        operator_count=len(plan.operators),
        step_count=len(plan.steps),
        stepwise="true" if plan.stepwise else "false",
    )


def _extent(extent: Extent) -> str:
    return f"{{{extent.offset}, {extent.size}}},"


def _argument(argument: TensorArgument) -> str:
    planned = "true" if argument.planned else "false"
    return f"{{{argument.index}, {_extent(argument.extent)} {planned}}},"


def _strings(texts: Iterable[str]) -> Iterable[str]:
    return (f"{_string(text)}," for text in texts)


def _string(text: str) -> str:
    """A C string literal of any text."""
    safe = {ord(c): f"\\{c}" for c in '"\\?'}
    plain = "".join(chr(b) if 32 <= b < 127 else f"<{b:o}>" for b in text.encode())
    return '"' + plain.translate(safe) + '"'


def _record(
    plan: ExecutorchPlan, isa: Isa, name: str, identity: str, program_bytes: int
) -> PlanRecord:
    graph = plan.graph
    return PlanRecord(
        model=name,
        identity=identity,
        isa=isa.label,
        steps=tuple(map(_step, plan.steps)),
        inputs=tuple(
            port_record(port, _place(argument.extent), True)
            for port, argument in zip(graph.inputs, plan.inputs, strict=True)
        ),
        outputs=tuple(
            port_record(port, _place(argument.extent), exact)
            for port, argument, exact in zip(
                graph.outputs, plan.outputs, plan.exact_outputs, strict=True
            )
        ),
        constant_bytes=program_bytes,
        arena_bytes=plan.arena_bytes,
        timeline=(),
        peak=None,
        least_bytes=plan.arena_bytes,
        states=(),
        state_bytes=0,
        verified="exact" if plan.exact else "tolerance",
        macs=plan.macs,
        whole_macs=plan.macs,
    )


def _step(step: ExecutorchStep) -> StepRecord:
    return StepRecord(
        title=step.title,
        source=step.source,
        kernel=step.operator,
        rows=(0, 0),
        microkernel=None,
        isa=None,
        fallback=None,
        macs=step.macs,
        whole_macs=step.macs,
        exact=step.exact,
        arithmetic=step.arithmetic,
        writes=tuple(
            TensorRecord(
                name=tensor.name,
                shape=tensor.shape,
                dtype=tensor.dtype.name,
                place=_place(extent),
            )
            for tensor, extent in step.writes
        ),
    )


def _place(extent: Extent) -> PlaceRecord:
    return PlaceRecord(base="arena", offset=extent.offset, bytes=extent.size)
