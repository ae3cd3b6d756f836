"""Parses the bytes of a `.pte` file into a program."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from cmcompiler.errors import InvalidProgram, Unsupported
from cmcompiler.pte import escaping, schema
from cmcompiler.pte.container import LARGEST, Constants, open_container
from cmcompiler.pte.flatbuffer import TableReader
from cmcompiler.pte.program import (
    Instruction,
    JumpFalseInstruction,
    KernelInstruction,
    Method,
    MoveInstruction,
    Program,
    RefusedMethod,
    Value,
)
from cmcompiler.pte.schema import ExecutionPlanTable, InstructionArguments
from cmcompiler.pte.values import UnsupportedTensor, dynamic_tensors, read_values

LONGEST_NAME = 256


def read_program(data: bytes | memoryview) -> Program:
    """Parses and checks a whole program; constants are views of `data`.

    Every offset, length, index and size product is checked, so the result is consistent. Time and
    memory are linear in the size of `data`.

    Delegates, dynamic shapes, external tensors and FreeCall refuse only the method that uses them.
    Named data, which only delegates use, is ignored.

    Raises:
        InvalidProgram: not a well-formed program.
        Unsupported: a bundled program, another schema, or more than 2 GiB.
    """
    container = open_container(data)
    program = container.program
    constants = Constants(container)
    methods = tuple(
        _method(plan, constants) for plan in program.tables(schema.ProgramTable.EXECUTION_PLAN)
    )
    if not methods:
        raise InvalidProgram("the program does not have any method")
    if len({method.name for method in methods}) != len(methods):
        raise InvalidProgram("the program has two methods of the same name")
    return Program(program.uint32(schema.ProgramTable.VERSION), methods)


def _method(plan: TableReader, constants: Constants) -> Method | RefusedMethod:
    name = _name(plan, ExecutionPlanTable.NAME)
    try:
        return _runnable(name, plan, constants)
    except Unsupported as reason:
        return RefusedMethod(name, reason)


def _runnable(name: str, plan: TableReader, constants: Constants) -> Method:
    for delegate in plan.tables(ExecutionPlanTable.DELEGATES):
        backend = _name(delegate, schema.BackendDelegateTable.ID)
        raise Unsupported(
            f"delegates are not supported: method {name} has one for {backend}",
            "lower with the Cortex-M passes only, without to_backend",
        )
    buffer_sizes = plan.int64s(ExecutionPlanTable.NON_CONST_BUFFER_SIZES)
    for number, size in enumerate(buffer_sizes):
        if not 0 <= size <= LARGEST:
            raise Unsupported(f"planned buffer {number} of method {name} has {size:,} bytes")
    entries = list(plan.tables(ExecutionPlanTable.VALUES))
    inputs = _indices(plan.int32s(ExecutionPlanTable.INPUTS), len(entries), "input")
    outputs = _indices(plan.int32s(ExecutionPlanTable.OUTPUTS), len(entries), "output")
    refused: UnsupportedTensor | None = None
    values: tuple[Value, ...] = ()
    try:
        values = read_values(entries, buffer_sizes, constants)
    except UnsupportedTensor as error:  # told with the operator that has it
        refused = error
    chains = list(plan.tables(ExecutionPlanTable.CHAINS))
    if len(chains) != 1:
        raise Unsupported(f"method {name} has {len(chains)} chains of instructions, not one")
    operators = [_operator(table) for table in plan.tables(ExecutionPlanTable.OPERATORS)]
    tables = list(chains[0].tables(schema.ChainTable.INSTRUCTIONS))
    instructions = tuple(
        _instruction(number, len(tables), table, operators, len(entries))
        for number, table in enumerate(tables)
    )
    if refused is not None:
        role = _role(refused.number, inputs, instructions)
        raise Unsupported(f"{refused.message}{role}", refused.hint)
    method = Method(name, values, inputs, outputs, instructions, buffer_sizes)
    _refuse_dynamic_shapes(method, dynamic_tensors(entries))
    return method


def _role(number: int, inputs: Sequence[int], instructions: Sequence[Instruction]) -> str:
    """The role of a tensor: an input, or an operand of the first operator that has it."""
    if number in inputs:
        return f"; it is input {inputs.index(number)}"
    for position, call in enumerate(instructions):
        if isinstance(call, KernelInstruction) and number in call.arguments:
            return f", an operand of {call.operator} #{position}"
    return ""


def _refuse_dynamic_shapes(method: Method, dynamic: Collection[int]) -> None:
    """Refuses tensors without a static shape.

    Raises:
        Unsupported: if all inputs are static, names the instruction whose data decides the shape.
    """
    for number in dynamic:
        if number in method.inputs:
            raise Unsupported(
                f"dynamic shapes are not supported: tensor {number} has one",
                "export with example inputs of one size and without dynamic_shapes",
            )
    for number, call in enumerate(method.instructions):
        if isinstance(call, KernelInstruction) and not set(dynamic).isdisjoint(call.arguments):
            raise Unsupported(
                f"data-dependent shapes are not supported: {call.operator} #{number} has one "
                f"({escaping.shapes(call, method.values)})",
                "nonzero, masked_select, torch.map and similar operators do not fit a static plan",
            )
    for number in dynamic:
        raise Unsupported(f"dynamic shapes are not supported: tensor {number} has one")


def _instruction(
    number: int, count: int, table: TableReader, operators: Sequence[str], value_count: int
) -> Instruction:
    label = f"instruction #{number}"
    kind = table.uint8(schema.InstructionTable.INSTR_ARGS_TYPE)
    content = table.table(schema.InstructionTable.INSTR_ARGS)
    if content is None:
        raise InvalidProgram(f"{label} of the program is empty")
    match kind:
        case InstructionArguments.KernelCall:
            operator = content.int32(schema.KernelCallTable.OP_INDEX)
            if not 0 <= operator < len(operators):
                raise InvalidProgram(f"{label} has operator {operator} of {len(operators)}")
            arguments = content.int32s(schema.KernelCallTable.ARGS)
            return KernelInstruction(operators[operator], _indices(arguments, value_count, label))
        case InstructionArguments.MoveCall:
            ends = (
                content.int32(schema.MoveCallTable.MOVE_FROM),
                content.int32(schema.MoveCallTable.MOVE_TO),
            )
            return MoveInstruction(*_indices(ends, value_count, label))
        case InstructionArguments.JumpFalseCall:
            condition = content.int32(schema.JumpFalseCallTable.COND_VALUE_INDEX)
            destination = content.int32(schema.JumpFalseCallTable.DESTINATION_INSTRUCTION)
            if not 0 <= destination <= count:
                raise InvalidProgram(f"{label} jumps to {destination} of {count} instructions")
            _indices((condition,), value_count, label)
            return JumpFalseInstruction(condition, destination)
        case InstructionArguments.FreeCall:
            raise Unsupported(f"FreeCall is not supported: {label} is one")
        case InstructionArguments.DelegateCall:
            raise Unsupported(f"delegates are not supported: {label} calls one")
    raise InvalidProgram(f"{label} of the program has the unknown type {kind}")


def _indices(indices: Iterable[int], value_count: int, label: str) -> tuple[int, ...]:
    """Raises InvalidProgram unless all are indices of values."""
    checked = tuple(indices)
    for index in checked:
        if not 0 <= index < value_count:
            raise InvalidProgram(f"{label} of the program is value {index} of {value_count}")
    return checked


def _operator(table: TableReader) -> str:
    name = _name(table, schema.OperatorTable.NAME)
    overload = _name(table, schema.OperatorTable.OVERLOAD)
    return f"{name}.{overload}" if overload else name


def _name(table: TableReader, slot: int) -> str:
    """A string that fits in a one-line message."""
    name = table.string(slot)
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise InvalidProgram("the program is corrupt: a name is too long or not printable")
    return name
