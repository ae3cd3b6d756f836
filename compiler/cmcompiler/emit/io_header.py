"""C text for a packaged model: the header of its inputs and outputs, and test vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cmcompiler.emit.source import comment, identifier
from cmcompiler.errors import Unsupported
from cmcompiler.plan.record import PlanRecord, PortRecord

IO_HEADER = "model_io.h"
VECTORS = "vectors.c"
VECTORS_ASSEMBLY = "vectors.S"
VECTORS_DATA = "vectors.bin"

_ALIGNMENT = 16

_IO_HEADER = """\
/* {title} */
#ifndef {macro}_CONTRACT_H
#define {macro}_CONTRACT_H

/* What the kernels of an image have to be: weights are packed for them. */
#define CM_MODEL_ISA_{isa} 1
#define CM_MODEL_NEEDS_FLOAT {needs_float}

{ports}

#endif
"""

_VECTORS = """\
/* {title} */
#include "cmrt/vectors.h"

#include <stddef.h>

extern const uint8_t {name}_vectors[];
{streams}{labels}
const struct cm_vectors cm_model_vectors = {{
    .samples = {samples},
    .inputs = {inputs},
    .input_count = {input_count},
    .outputs = {outputs},
    .output_count = {output_count},
    .labels = {label_table},
}};

const char *const cm_model_titles[] = {{
{titles}}};
"""

_ASSEMBLY = """\
/* The test vectors of {name}, which are where its weights are. */
    .section .weights, "a", %progbits
    .balign 16
    .global {name}_vectors
    .type {name}_vectors, %object
{name}_vectors:
    .incbin "{data}"
    .size {name}_vectors, . - {name}_vectors

    .section .note.GNU-stack, "", %progbits
"""


@dataclass(frozen=True, slots=True)
class VectorData:
    """Samples as they lie in memory.

    Attributes:
        inputs, outputs: per port, the bytes of all samples, one after the other.
        labels: the class of each sample, -1 if unknown; None if there are none.
    """

    samples: int
    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]
    labels: tuple[int, ...] | None


def io_header(plan: PlanRecord, needs_float: bool) -> str:
    """model_io.h: shapes, layouts and scales as macros, and the kernels the model needs."""
    macro = plan.model.upper()
    return _IO_HEADER.format(
        title=f"{comment(plan.model)}: what goes in, and what comes out.",
        macro=macro,
        isa=plan.isa.upper(),
        needs_float=int(needs_float),
        ports="\n\n".join(
            "\n".join(_port(f"CM_MODEL_{kind}_{index}", port))
            for kind, ports in (("INPUT", plan.inputs), ("OUTPUT", plan.outputs))
            for index, port in enumerate(ports)
        ),
    )


def vectors(plan: PlanRecord, vectors: VectorData) -> tuple[str, str, bytes]:
    """vectors.c, vectors.S and vectors.bin.

    Raises:
        Unsupported: an output type that devices cannot compare.
    """
    data = b""
    tables: dict[str, list[str]] = {"inputs": [], "outputs": []}
    streams = ((plan.inputs, vectors.inputs), (plan.outputs, vectors.outputs))
    for (ports, blobs), rows in zip(streams, tables.values(), strict=True):
        for port, blob in zip(ports, blobs, strict=True):
            place = f"{plan.model}_vectors + {len(data)}"
            rows.append(f"{{{place}, {port.place.bytes}, {_rule(port)}}}, /* {_name(port)} */")
            data += blob + bytes(-len(blob) % _ALIGNMENT)
    labels = vectors.labels
    source = _VECTORS.format(
        title=f"{comment(plan.model)}: samples, and what the reference makes of them.",
        name=plan.model,
        samples=vectors.samples,
        streams="".join(_table("struct cm_stream", name, rows) for name, rows in tables.items()),
        labels="" if labels is None else _table("int32_t", "labels", [f"{n}," for n in labels]),
        label_table="NULL" if labels is None else "labels",
        titles="".join(f"    {_string(step.title)},\n" for step in plan.steps) or '    "",\n',
        **{name: name if rows else "NULL" for name, rows in tables.items()},
        input_count=len(plan.inputs),
        output_count=len(plan.outputs),
    )
    return source, _ASSEMBLY.format(name=plan.model, data=VECTORS_DATA), data or bytes(1)


def _port(macro: str, port: PortRecord) -> Iterator[str]:
    shape = "×".join(map(str, port.shape)) or "scalar"
    yield f"/* {_name(port)}: {port.dtype} {shape}, {comment(port.layout)} */"
    count = 1
    for size in port.shape:
        count *= size
    yield f"#define {macro}_COUNT {count}"
    yield f"#define {macro}_BYTES {port.place.bytes}"
    yield f"#define {macro}_SHAPE {{{', '.join(map(str, port.shape)) or '1'}}}"
    yield f"#define {macro}_{identifier(port.dtype).upper()} 1"
    if port.quantization is not None:
        yield f"#define {macro}_SCALE {port.quantization.scale!r}f"
        yield f"#define {macro}_ZERO_POINT ({port.quantization.zero_point})"


def _rule(port: PortRecord) -> str:
    """How runtime/vectors compares the port; the counterpart of cmbuild/verify/tolerance.py."""
    if port.exact:
        return "CM_RULE_FLOAT" if port.dtype == "float32" else "CM_RULE_BITS"
    if port.dtype not in ("float32", "int8"):
        raise Unsupported(f"a device cannot compare {port.name}, {port.dtype}, within tolerance")
    return "CM_RULE_NEAR" if port.dtype == "float32" else "CM_RULE_NEAR_S8"


def _name(port: PortRecord) -> str:
    return comment(port.name)


def _table(type_: str, name: str, rows: Sequence[str] | Iterable[str]) -> str:
    body = "".join(f"    {row}\n" for row in rows)
    return f"\nstatic const {type_} {name}[] = {{\n{body}}};\n" if body else ""


def _string(text: str) -> str:
    """A C string of any text, in UTF-8."""
    escaped = "".join(c if c.isprintable() and c not in '"\\' else "?" for c in text)
    return f'"{escaped}"'
