"""The emitted folder: compiles without a warning, contains the plan's words, is reproducible."""

from __future__ import annotations

import ctypes
import re
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from harness.toy import Same, Sum, constant, graph, node, tensor

from cmcompiler.emit.files import read_record
from cmcompiler.emit.folder import emit
from cmcompiler.emit.source import identifier
from cmcompiler.ir.graph import Graph, MutableBuffer
from cmcompiler.ir.op import Word
from cmcompiler.isa import Isa
from cmcompiler.plan.plan import Plan
from cmcompiler.plan.planner import make_plan

RUNTIME = Path(__file__).parents[3] / "runtime" / "include"
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-pedantic"]
LIMITS: list[Word] = [0, -1, -(2**31), 2**31 - 1, 2**31, 2**32 - 1, 0.1, float("inf"), 1e300]

KERNEL = """
#include "cmrt/program.h"
cm_kernel cm_sum;
void cm_sum(const struct cm_context *context, const struct cm_call *call)
{
    (void)context, (void)call;
}
"""


def toy() -> Graph:
    """Every kind of word, two kernel calls in one node, a view, a constant as an output, states
    with and without initial contents.
    """
    x, y, view, table = tensor("x", 32), tensor("y", 32), tensor("view", 32), constant("t", b"abc")
    nodes = [node(Sum(), [x, table], [y])]
    a = y
    for index, limit in enumerate(LIMITS):
        b = tensor(f"t{index}", 32)
        nodes.append(node(Sum(extra=limit, table=bytes([index]), calls=2), [a], [b]))
        a = b
    nodes.append(node(Same(), [a], [view]))
    states = tuple(
        MutableBuffer(kept, kept, np.full(32, value, np.int8))
        for kept, value in ((tensor("kept", 32), 7), (tensor("cleared", 32), 0))
    )
    unread = [node(Sum(), [state.tensor], [tensor("unread", 32)]) for state in states]
    return replace(graph([*unread, *nodes], [x], [view, table, x]), states=states)


def plan() -> Plan:
    return make_plan(toy(), Isa.SCALAR)


def compile_library(folders: list[Path], target: Path) -> None:
    """Compiles models and an empty kernel into one shared library."""
    kernel = target.with_name("kernel.c")
    kernel.write_text(KERNEL)
    objects = [kernel]
    for index, folder in enumerate(folders):
        for name in ("model.c", "model.S"):
            objects.append(target.with_name(f"{index}-{name}.o"))
            flags = [*WARNINGS, "-fPIC", f"-I{RUNTIME}", f"-I{folder}", "-c"]
            subprocess.run(["gcc", *flags, folder / name, "-o", objects[-1]], check=True)
    flags = [*WARNINGS, f"-I{RUNTIME}", "-fPIC", "-shared"]
    subprocess.run(["gcc", *flags, *objects, "-o", target], check=True)


class CStep(ctypes.Structure):
    _fields_ = (
        ("run", ctypes.c_void_p),
        ("arguments", ctypes.POINTER(ctypes.c_uint32)),
        ("y0", ctypes.c_int32),
        ("y1", ctypes.c_int32),
    )


class CPort(ctypes.Structure):
    _fields_ = (("data", ctypes.c_uint32), ("bytes", ctypes.c_uint32))


class CState(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_uint32),
        ("initial", ctypes.c_uint32),
        ("bytes", ctypes.c_uint32),
    )


class CProgram(ctypes.Structure):
    _fields_ = (
        ("steps", ctypes.POINTER(CStep)),
        ("step_count", ctypes.c_uint32),
        ("inputs", ctypes.POINTER(CPort)),
        ("input_count", ctypes.c_uint32),
        ("outputs", ctypes.POINTER(CPort)),
        ("output_count", ctypes.c_uint32),
        ("states", ctypes.POINTER(CState)),
        ("state_count", ctypes.c_uint32),
        ("constants", ctypes.POINTER(ctypes.c_uint8)),
        ("constant_bytes", ctypes.c_uint32),
        ("arena_bytes", ctypes.c_uint32),
        ("identity", ctypes.c_char_p),
    )


def test_c_holds_what_the_plan_says(tmp_path: Path) -> None:
    made = plan()
    record = emit(made, tmp_path, b"program", "toy")
    compile_library([tmp_path], tmp_path / "toy.so")
    program = CProgram.in_dll(ctypes.CDLL(str(tmp_path / "toy.so")), "toy_program")
    assert program.step_count == len(made.steps)
    for index, step in enumerate(made.steps):
        row = program.steps[index]
        words = [argument.word for argument in step.words]
        assert row.arguments[: len(words)] == words
        assert (row.y0, row.y1) == step.rows
    for ports, count, expected in (
        (program.inputs, program.input_count, made.inputs),
        (program.outputs, program.output_count, made.outputs),
    ):
        assert [(ports[i].data, ports[i].bytes) for i in range(count)] == [
            (made.places[port.tensor].word, port.tensor.nbytes) for port in expected
        ]
    assert [
        (row.data, row.initial, row.bytes) for row in program.states[: program.state_count]
    ] == [
        (buffer.span.ref.word, 0xFFFFFFFF if buffer.initial is None else buffer.initial.word, 32)
        for buffer in made.states
    ]
    assert [kept.initial is None for kept in made.states] == [False, True]
    assert bytes(program.constants[: program.constant_bytes]) == made.constants
    assert ctypes.addressof(program.constants.contents) % 16 == 0
    assert program.arena_bytes == made.arena_bytes == record.arena_bytes
    assert program.identity.decode() == record.identity


def test_floats_travel_as_bits(tmp_path: Path) -> None:
    emit(plan(), tmp_path)
    bits = struct.unpack("<I", np.float32(0.1).tobytes())[0]
    text = (tmp_path / "model.c").read_text()
    assert f"BITS(0x{bits:08x}), /* extra = 0.1 */" in text
    assert "BITS(0x7f800000), /* extra = 1e+300 */" in text


def test_models_can_be_linked_together(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        emit(plan(), folder, name=folder.name)
    compile_library(folders, tmp_path / "both.so")
    library = ctypes.CDLL(str(tmp_path / "both.so"))
    one, two = (CProgram.in_dll(library, f"{f.name}_program") for f in folders)
    assert one.identity != two.identity


def test_a_program_may_be_nothing_but_ports(tmp_path: Path) -> None:
    x = tensor("x", 32)
    emit(make_plan(graph([], [x], [x]), Isa.SCALAR), tmp_path, name="empty")
    compile_library([tmp_path], tmp_path / "empty.so")
    program = CProgram.in_dll(ctypes.CDLL(str(tmp_path / "empty.so")), "empty_program")
    assert (program.step_count, program.input_count, program.output_count) == (0, 1, 1)


def test_the_same_plan_gives_the_same_bytes(tmp_path: Path) -> None:
    contents = []
    for name in "ab":
        folder = tmp_path / name
        folder.mkdir()
        emit(plan(), folder, b"program")
        contents.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert contents[0] == contents[1]
    assert set(contents[0]) == {"model.c", "model.h", "model.S", "weights.bin", "plan.json"}


def test_the_identity_follows_program_words_and_constants(tmp_path: Path) -> None:
    x, y = tensor("x", 32), tensor("y", 32)

    def identity(op: Sum, program: bytes = b"") -> str:
        made = make_plan(graph([node(op, [x], [y])], [x], [y]), Isa.SCALAR)
        return emit(made, tmp_path, program).identity

    identities = [identity(Sum()), identity(Sum(), b"other"), identity(Sum(extra=1))]
    identities.append(identity(Sum(table=b"other")))
    assert len(set(identities)) == 4


def test_plan_json_tells_what_a_cached_run_needs(tmp_path: Path) -> None:
    made = plan()
    written = emit(made, tmp_path, b"program", "toy")
    record = read_record(tmp_path)
    assert record == written
    assert record.verified == "exact"
    assert record.constant_bytes == (tmp_path / "weights.bin").stat().st_size
    assert [step.kernel for step in record.steps] == ["sum"] * len(made.steps)
    last = record.steps[-1].writes[0]
    assert record.outputs[0].place == last.place
    assert record.outputs[1].place.base == "constants"
    assert record.outputs[2].place == record.inputs[0].place
    assert record.peak is not None and record.peak.bytes + 64 == record.arena_bytes


def test_comments_cannot_be_broken_out_of(tmp_path: Path) -> None:
    x, y = tensor("x", 32), tensor("y", 32)
    hostile = node(Sum(), [x], [y])
    hostile = type(hostile)(
        hostile.op, hostile.inputs, hostile.outputs, "*/ #error /* \n *\\ #error \\"
    )
    emit(make_plan(graph([hostile], [x], [y]), Isa.SCALAR), tmp_path, name="a */ b\n")
    compile_library([tmp_path], tmp_path / "hostile.so")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("mv2", "mv2"), ("Mobile-Net.v1", "mobile_net_v1"), ("8bit", "model_8bit"), ("é", "model")],
)
def test_any_name_becomes_an_identifier(name: str, expected: str) -> None:
    assert identifier(name) == expected
    assert re.fullmatch(r"[a-z_][a-z0-9_]*", identifier(name))
