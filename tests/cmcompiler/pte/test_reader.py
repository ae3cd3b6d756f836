"""Programs as typed values, and what the reader refuses."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any

import flatbuffers
import numpy as np
import pytest
from harness.programs import NAMES, program_bytes

from cmcompiler.errors import CompilerError, InvalidProgram, Unsupported
from cmcompiler.pte import schema
from cmcompiler.pte.program import (
    Allocation,
    JumpFalseInstruction,
    KernelInstruction,
    Method,
    MoveInstruction,
    Program,
    RefusedMethod,
    TensorList,
    TensorValue,
)
from cmcompiler.pte.reader import read_program


def only_method(name: str) -> Method:
    (method,) = read_program(program_bytes(name)).methods
    assert isinstance(method, Method)
    return method


def refusal(program: Program) -> Unsupported:
    """Why the first method cannot run."""
    method = program.methods[0]
    assert isinstance(method, RefusedMethod)
    return method.reason


def test_instructions_and_arguments() -> None:
    method = only_method("network")
    operators = [
        item.operator for item in method.instructions if isinstance(item, KernelInstruction)
    ]
    assert operators == [
        "cortex_m::quantize_per_tensor.out",
        "cortex_m::quantized_conv2d.out",
        "cortex_m::quantized_avg_pool2d.out",
        "cortex_m::quantized_linear.out",
        "cortex_m::dequantize_per_tensor.out",
    ]
    pool = method.instructions[2]
    assert isinstance(pool, KernelInstruction)
    values = [method.values[index] for index in pool.arguments]
    assert values[1:6] == [(6, 5), (1, 1), (0, 0), False, -128]
    assert type(values[4]) is bool


def test_tensors_have_their_place_and_their_dim_order() -> None:
    method = only_method("network")
    (source,) = (method.values[index] for index in method.inputs)
    assert isinstance(source, TensorValue)
    assert source.sizes == (1, 3, 6, 5)
    assert source.dim_order == (0, 2, 3, 1)
    assert source.physical_shape == (1, 6, 5, 3)
    assert source.dtype == np.float32
    assert source.allocation is not None
    assert source.allocation.offset + source.nbytes <= method.buffer_sizes[1]


def test_constants_inline_are_those_of_a_segment() -> None:
    segment, inline = only_method("network"), only_method("inline_constants")
    assert b"eh00" not in program_bytes("inline_constants")
    assert segment == inline
    assert any(isinstance(value, TensorValue) and value.data for value in inline.values)


def test_methods() -> None:
    program = read_program(program_bytes("two_methods"))
    assert sorted(method.name for method in program.methods) == ["backward", "forward"]


def test_numbers_among_inputs() -> None:
    method = only_method("scalars")
    given = [method.values[index] for index in method.inputs]
    assert [given[0], given[2], given[3]] == [3, 2.5, True]
    assert [type(value) for value in (given[0], given[2], given[3])] == [int, float, bool]


def test_lists_of_tensors_and_control_flow() -> None:
    lists = [v for v in only_method("unknown_operators").values if isinstance(v, TensorList)]
    assert lists and all(len(item.items) == 2 for item in lists)
    kinds = {type(item) for item in only_method("control_flow").instructions}
    assert kinds >= {JumpFalseInstruction, MoveInstruction}


@pytest.mark.parametrize("name", NAMES)
def test_reads_what_executorch_reads(name: str) -> None:
    pytest.importorskip("executorch")
    from executorch.exir._serialize._program import deserialize_pte_binary

    methods = read_program(program_bytes(name)).methods
    plans = deserialize_pte_binary(program_bytes(name)).program.execution_plan
    assert [method.name for method in methods] == [plan.name for plan in plans]
    for method, plan in zip(methods, plans, strict=True):
        if isinstance(method, RefusedMethod):
            continue
        assert method.inputs == tuple(plan.inputs)
        assert method.outputs == tuple(plan.outputs)
        assert method.buffer_sizes == tuple(plan.non_const_buffer_sizes)
        assert len(method.instructions) == len(plan.chains[0].instructions)
        values = [_plain(entry.val, plan.values) for entry in plan.values]
        assert [_summary(value) for value in method.values] == values


def _plain(value: Any, values: Any) -> Any:
    """ExecuTorch's value in the form that _summary uses for ours."""
    match type(value).__name__:
        case "Null":
            return None
        case "Int" | "Bool" | "Double" | "String":
            return next(iter(vars(value).values()))
        case "IntList":
            return tuple(values[index].val.int_val for index in value.items)
        case "Tensor":
            place = value.allocation_info
            allocation = place and Allocation(place.memory_id, place.memory_offset_low)
            return tuple(value.sizes), tuple(value.dim_order), allocation
        case _:
            return tuple(value.items)


def _summary(value: Any) -> Any:
    if isinstance(value, TensorValue):
        return value.sizes, value.dim_order, value.allocation
    return value.items if isinstance(value, TensorList) else value


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("delegate", "delegates are not supported: method forward has one for "),
        ("dynamic_shape", "dynamic shapes are not supported: tensor 0 has one"),
        ("external_constant", "external tensors are not supported: tensor 0 is stored outside "),
        ("free_call", "FreeCall is not supported: instruction #6 is one"),
        ("data_dependent_shape", "data-dependent shapes are not supported: aten::nonzero"),
        ("unknown_scalar_type", "tensor 0 has scalar type BFLOAT16 (15); it is input 0"),
    ],
)
def test_refuses_and_names(name: str, message: str) -> None:
    assert refusal(read_program(program_bytes(name))).message.startswith(message)


def test_a_refused_method_leaves_the_others_alone() -> None:
    delegate, forward = read_program(program_bytes("delegate_elsewhere")).methods
    assert isinstance(delegate, RefusedMethod) and delegate.name == "delegated"
    assert isinstance(forward, Method) and forward.name == "forward"


def test_named_data_is_for_delegates() -> None:
    assert only_method("named_data") == only_method("two_inputs")


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (b"", InvalidProgram, "not an ExecuTorch program"),
        (b"\x7fELF\x01\x01\x01\x00\x00\x00", InvalidProgram, "not an ExecuTorch program"),
        (b"\x10\0\0\0BP08" + bytes(64), Unsupported, "bundled programs are not supported"),
        (b"\x10\0\0\0ET13" + bytes(64), Unsupported, "the program has schema ET13, not ET12"),
        (b"\x10\0\0\0ET12", InvalidProgram, "the program is truncated or corrupt"),
        (b"\x10\0\0\0ET12eh00", InvalidProgram, "the program is truncated after 12 bytes"),
    ],
)
def test_other_files(data: bytes, kind: type[CompilerError], message: str) -> None:
    with pytest.raises(kind) as error:
        read_program(data)
    assert error.value.message.startswith(message)


@pytest.mark.parametrize(
    ("name", "limit", "message"),
    [
        ("reader.LARGEST", 400, "planned buffer 1 of method forward has 464 bytes"),
        ("values.MOST_ELEMENTS", 100, r"tensor \d+ has more than 100 elements: \["),
    ],
)
def test_sizes_have_a_limit(
    name: str, limit: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lowers the limit for the test."""
    monkeypatch.setattr(f"cmcompiler.pte.{name}", limit)
    assert re.match(message, refusal(read_program(program_bytes("network"))).message)


def test_a_file_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cmcompiler.pte.container.LARGEST", 4000)
    with pytest.raises(Unsupported, match="the program has 4,620 bytes, the limit is 4,000"):
        read_program(program_bytes("network"))


@pytest.mark.parametrize("name", ["network", "inline_constants", "control_flow"])
def test_every_truncation_is_noticed(name: str) -> None:
    """Only the padding at the end may be missing."""
    data = program_bytes(name)
    for size in range(len(data.rstrip(b"\0"))):
        with pytest.raises(CompilerError):
            read_program(data[:size])


def test_overlapping_vectors_do_not_multiply() -> None:
    """A few kilobytes whose thousand values all share one list must not become a million."""
    with pytest.raises(InvalidProgram, match="its vectors overlap"):
        read_program(shared_list(2000))


def shared_list(count: int) -> bytes:
    """A program of `count` values that all share one list of `count` floats."""
    builder = flatbuffers.Builder()

    def table(*fields: tuple[IntEnum, int]) -> int:
        builder.StartObject(1 + max(slot for slot, _ in fields))
        for slot, offset in fields:
            if slot is schema.EValueTable.VAL_TYPE:
                builder.PrependUint8Slot(slot, offset, 0)
            else:
                builder.PrependUOffsetTRelativeSlot(slot, offset, 0)
        return int(builder.EndObject())

    def vector(*tables: int) -> int:
        builder.StartVector(4, len(tables), 4)
        for offset in tables:
            builder.PrependUOffsetTRelative(offset)
        return int(builder.EndVector())

    doubles = table((schema.DoubleListTable.ITEMS, builder.CreateNumpyVector(np.zeros(count))))
    kind = schema.KernelTypes.DoubleList
    value = table((schema.EValueTable.VAL_TYPE, kind), (schema.EValueTable.VAL, doubles))
    plan = table((schema.ExecutionPlanTable.VALUES, vector(*[value] * count)))
    program = table((schema.ProgramTable.EXECUTION_PLAN, vector(plan)))
    builder.Finish(program, file_identifier=schema.FILE_IDENTIFIER)
    return bytes(builder.Output())
