"""The test vectors of a packaged model: NAME_vectors.h, .c, .S and .bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cmcompiler.emit.constants import included
from cmcompiler.emit.source import comment, table
from cmcompiler.emit.status import ok_status
from cmcompiler.errors import Unsupported
from cmcompiler.plan.record import PlanRecord, PortRecord

_ALIGNMENT = 16

_HEADER = """\
/* {name}: samples, and what the reference makes of them. */
#ifndef {macro}_VECTORS_H
#define {macro}_VECTORS_H

#include "{name}.h"

#ifdef __cplusplus
extern "C" {{
#endif

#define {macro}_VECTORS {samples}

/* Resets a context, and writes a sample to its inputs; NO_SAMPLE if there is none so numbered. */
enum {name}_status {name}_vectors_load(struct {name} *model, uint32_t sample);

/* The bytes of input `input` of a sample, or NULL. Rows that the model waits for are yours to
 * bring. */
const void *{name}_vectors_input(uint32_t input, uint32_t sample);

/* The bytes that are expected of output `output`, or NULL; to compare with rows that go one by
 * one. */
const void *{name}_vectors_output(uint32_t output, uint32_t sample);

/* After a run: the first output in memory that differs from what is expected of it, or -1; this if
 * the context is not bound or there is no such sample. */
#define {macro}_VECTORS_UNCHECKED INT32_MAX
int32_t {name}_vectors_check(const struct {name} *model, uint32_t sample);

/* The class of a sample; -1 if unknown. */
int32_t {name}_vectors_label(uint32_t sample);

#ifdef __cplusplus
}}
#endif

#endif
"""

_SOURCE = """\
/* {name}: samples, and what the reference makes of them. */
#include "{name}_vectors.h"

#include "cmrt/vectors.h"
#include "{name}_plan.h"

extern const uint8_t {name}_vector_bytes[];
{streams}{labels}
extern const struct cm_vectors {name}_vectors;
const struct cm_vectors {name}_vectors = {{
    .samples = {macro}_VECTORS,
    .inputs = {inputs},
    .input_count = {input_count},
    .outputs = {outputs},
    .output_count = {output_count},
    .labels = {label_table},
}};

enum {name}_status {name}_vectors_load(struct {name} *model, uint32_t sample)
{{
    if (!{name}_is_ready(model))
        return {macro}_NO_CONTEXT;
    if (sample >= {macro}_VECTORS)
        return {macro}_NO_SAMPLE;
    {name}_reset(model);
    const struct cm_context memory = {{model->arena, {name}_program.constants}};
    cm_vectors_write(&{name}_vectors, &memory, {name}_program.inputs, sample);
    return {ok};
}}

const void *{name}_vectors_input(uint32_t input, uint32_t sample)
{{
    if (input >= {name}_vectors.input_count || sample >= {macro}_VECTORS)
        return NULL;
    const struct cm_stream *stream = &{name}_vectors.inputs[input];
    return stream->data + sample * stream->bytes;
}}

const void *{name}_vectors_output(uint32_t output, uint32_t sample)
{{
    if (output >= {name}_vectors.output_count || sample >= {macro}_VECTORS)
        return NULL;
    const struct cm_stream *stream = &{name}_vectors.outputs[output];
    return stream->data + sample * stream->bytes;
}}

int32_t {name}_vectors_check(const struct {name} *model, uint32_t sample)
{{
    if (!{name}_is_ready(model) || sample >= {macro}_VECTORS)
        return {macro}_VECTORS_UNCHECKED;
    const struct cm_context memory = {{model->arena, {name}_program.constants}};
    return cm_vectors_differ(&{name}_vectors, &memory, {name}_program.outputs, sample);
}}

int32_t {name}_vectors_label(uint32_t sample)
{{
    const int32_t *classes = {name}_vectors.labels;
    return classes != NULL && sample < {macro}_VECTORS ? classes[sample] : -1;
}}
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


def vector_files(plan: PlanRecord, vectors: VectorData, section: str) -> dict[str, bytes]:
    """The files by name.

    Args:
        section: the directive that starts the section of the bytes.

    Raises:
        Unsupported: an output type that devices cannot compare.
    """
    name, data = plan.model, b""
    tables: dict[str, list[str]] = {"inputs": [], "outputs": []}
    streams = ((plan.inputs, vectors.inputs), (plan.outputs, vectors.outputs))
    for (ports, blobs), rows in zip(streams, tables.values(), strict=True):
        for port, blob in zip(ports, blobs, strict=True):
            place = f"{name}_vector_bytes + {len(data)}"
            rows.append(f"{{{place}, {port.place.bytes}, {_rule(port)}}}, /* {_name(port)} */")
            data += blob + bytes(-len(blob) % _ALIGNMENT)
    labels: Sequence[int] | None = vectors.labels
    words = {"name": name, "macro": name.upper(), "samples": vectors.samples}
    source = _SOURCE.format(
        **words,
        ok=ok_status(name.upper()),
        streams="".join(table("struct cm_stream", key, rows) for key, rows in tables.items()),
        labels="" if labels is None else table("int32_t", "labels", [f"{n}," for n in labels]),
        label_table="NULL" if labels is None else "labels",
        **{key: key if rows else "NULL" for key, rows in tables.items()},
        input_count=len(plan.inputs),
        output_count=len(plan.outputs),
    )
    title, symbol = f"The test vectors of {name}", f"{name}_vector_bytes"
    assembly = included(title, symbol, f"{name}_vectors.bin", section)
    return {
        f"{name}_vectors.h": _HEADER.format(**words).encode(),
        f"{name}_vectors.c": source.encode(),
        f"{name}_vectors.S": assembly.encode(),
        f"{name}_vectors.bin": data or bytes(1),
    }


def _rule(port: PortRecord) -> str:
    """How runtime/vectors compares the port; the counterpart of cmbuild/verify/tolerance.py."""
    if port.exact:
        return "CM_RULE_FLOAT" if port.dtype == "float32" else "CM_RULE_BITS"
    if port.dtype not in ("float32", "int8"):
        raise Unsupported(f"a device cannot compare {port.name}, {port.dtype}, within tolerance")
    return "CM_RULE_NEAR" if port.dtype == "float32" else "CM_RULE_NEAR_S8"


def _name(port: PortRecord) -> str:
    return comment(port.name)
