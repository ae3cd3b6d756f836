"""Samples beside a package, as bytes."""

from __future__ import annotations

import pytest

from cmcompiler.emit.constants import WEIGHTS_SECTION
from cmcompiler.emit.vectors import VectorData, vector_files
from cmcompiler.errors import Unsupported
from cmcompiler.plan.record import PlaceRecord, PlanRecord, PortRecord


def port(name: str, dtype: str, size: int, exact: bool = True) -> PortRecord:
    place = PlaceRecord.model_construct(bytes=size)
    return PortRecord.model_construct(name=name, dtype=dtype, exact=exact, place=place)


def plan(*outputs: PortRecord) -> PlanRecord:
    inputs = (port("x", "int8", 3),)
    return PlanRecord.model_construct(model="kws", inputs=inputs, outputs=outputs)


def test_each_port_begins_at_16_bytes_with_its_rule() -> None:
    outputs = (port("y", "int8", 2), port("z", "float32", 4, exact=False))
    data = VectorData(2, (b"abcdef",), (b"wxyz", bytes(8)), (1, -1))
    files = vector_files(plan(*outputs), data, WEIGHTS_SECTION)
    content = files["kws_vectors.bin"]
    assert (content[:6], content[16:20], len(content)) == (b"abcdef", b"wxyz", 48)
    text = files["kws_vectors.c"].decode()
    assert "{kws_vector_bytes + 0, 3, CM_RULE_BITS}" in text
    assert "{kws_vector_bytes + 16, 2, CM_RULE_BITS}" in text
    assert "{kws_vector_bytes + 32, 4, CM_RULE_NEAR}" in text
    assert ".labels = labels" in text
    assert b"#define KWS_VECTORS 2" in files["kws_vectors.h"]


def test_without_labels_there_is_no_table() -> None:
    files = vector_files(plan(), VectorData(1, (b"abc",), (), None), WEIGHTS_SECTION)
    assert ".labels = NULL" in files["kws_vectors.c"].decode()
    assert ".outputs = NULL" in files["kws_vectors.c"].decode()


def test_types_that_devices_cannot_compare_are_refused() -> None:
    wide = plan(port("y", "int32", 4, exact=False))
    with pytest.raises(Unsupported, match="cannot compare y, int32, within tolerance"):
        vector_files(wide, VectorData(1, (b"abc",), (b"1234",), None), WEIGHTS_SECTION)
