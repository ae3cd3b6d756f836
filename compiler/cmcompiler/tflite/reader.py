"""Parses the bytes of a `.tflite` file into a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cmcompiler.errors import InvalidProgram, Unsupported
from cmcompiler.pte.container import LARGEST
from cmcompiler.pte.flatbuffer import FlatBuffer, TableReader
from cmcompiler.pte.program import (
    Allocation,
    Instruction,
    JumpFalseInstruction,
    KernelInstruction,
    Method,
    MoveInstruction,
    Program,
    RefusedMethod,
    TensorList,
    TensorValue,
    Value,
)
from cmcompiler.pte.reader import LONGEST_NAME
from cmcompiler.tflite import schema
from cmcompiler.tflite.kinds import refuse_kind
from cmcompiler.tflite.operators import FORMS, PREFIX, Form, assign
from cmcompiler.tflite.schema import BuiltinOperator, BuiltinOptions, ModelTable, SubGraphTable
from cmcompiler.tflite.subgraphs import Frame, Operator
from cmcompiler.tflite.tensors import Buffers, read_tensor

METHOD = "forward"
"""The name of the main subgraph as a method."""

DEEPEST = 16
"""Branches within branches."""

_ASSIGN = f"{PREFIX}ASSIGN_VARIABLE"

_LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"

_LSTM_STATE = ("hidden", "cell")
"""Operands that LiteRT keeps from run to run, and TensorFlow Lite Micro does not."""

_CODES = frozenset(BuiltinOperator)


def is_tflite(data: bytes | memoryview) -> bool:
    """Whether a file starts like a `.tflite` file."""
    return bytes(data[4:8]) == schema.FILE_IDENTIFIER


def read_tflite(data: bytes | memoryview, *, keep_state: bool = False) -> Program:
    """Parses and checks a whole program; constants are views of `data`.

    Every offset, length, index and size product is checked, so the result is consistent. Time and
    memory are linear in the size of `data`.

    The main subgraph becomes the method `forward`, each operator an instruction `tflite::NAME` with
    its inputs, options and outputs as arguments.

    Args:
        keep_state: an LSTM goes on where the run before ended, as in LiteRT.

    Raises:
        InvalidProgram: not a well-formed program.
        Unsupported: another schema, or more than 2 GiB.
    """
    version, reading = _opened(data, keep_state)
    try:
        method = reading.method()
    except Unsupported as reason:
        return Program(version, (RefusedMethod(METHOD, reason),))
    return Program(version, (method,))


def read_layers(data: bytes | memoryview) -> dict[int, str]:
    """Names of what a program's instructions compute, where the file has them."""
    _, reading = _opened(data)
    reading.method()
    return reading.layers


def _opened(data: bytes | memoryview, keep_state: bool = False) -> tuple[int, _Reading]:
    """The version of a program's file, and its content before it is read."""
    view = memoryview(data).toreadonly()
    if len(view) > LARGEST:
        raise Unsupported(f"the program has {len(view):,} bytes, the limit is {LARGEST:,}")
    if not is_tflite(view):
        raise InvalidProgram("not a TensorFlow Lite program: it does not start like a .tflite file")
    model = FlatBuffer(view).root
    version = model.uint32(ModelTable.VERSION)
    if version != 3:
        raise Unsupported(f"the program has schema version {version}, not 3")
    subgraphs = list(model.tables(ModelTable.SUBGRAPHS))
    if not subgraphs:
        raise InvalidProgram("the program does not have a subgraph")
    names = [_operator_name(code) for code in model.tables(ModelTable.OPERATOR_CODES)]
    return version, _Reading(subgraphs, Buffers(view, model), names, keep_state)


def _operator_name(code: TableReader) -> str:
    old = code.int8(schema.OperatorCodeTable.DEPRECATED_BUILTIN_CODE)
    number = max(old, code.int32(schema.OperatorCodeTable.BUILTIN_CODE))
    if number == BuiltinOperator.CUSTOM:
        name = code.string(schema.OperatorCodeTable.CUSTOM_CODE)
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise InvalidProgram("the program is corrupt: a custom operator's name is malformed")
        return name
    return BuiltinOperator(number).name if number in _CODES else f"operator {number}"


class _Reading:
    """The values and instructions of the main subgraph, and of those that it calls."""

    def __init__(
        self,
        subgraphs: Sequence[TableReader],
        buffers: Buffers,
        names: Sequence[str],
        keep_state: bool = False,
    ) -> None:
        self._subgraphs = subgraphs
        self._buffers = buffers
        self._names = names
        self._keep_state = keep_state
        self.layers: dict[int, str] = {}
        self._values: list[Value] = []
        self._instructions: list[Instruction] = []
        self._variables: dict[str, int] = {}
        self._initial: dict[str, TensorValue] = {}
        self._none: int | None = None
        self._kept: list[int] = []

    def method(self) -> Method:
        frame = Frame.of(self._subgraphs[0])
        inputs = frame.indices(SubGraphTable.INPUTS, "input")
        ports = [self._use(frame, index) for index in inputs]
        self._operators(frame, 0)
        outputs = frame.indices(SubGraphTable.OUTPUTS, "output")
        results = tuple(self._use(frame, index) for index in outputs)
        calls = [each for each in self._instructions if isinstance(each, KernelInstruction)]
        refuse_kind(calls, self._values)
        sizes = (0, *map(self._size, self._kept))
        instructions = tuple(self._instructions)
        return Method(METHOD, tuple(self._values), tuple(ports), results, instructions, sizes)

    def _operators(self, frame: Frame, depth: int) -> None:
        for number, table in enumerate(frame.table.tables(SubGraphTable.OPERATORS)):
            code = table.uint32(schema.OperatorTable.OPCODE_INDEX)
            if code >= len(self._names):
                raise InvalidProgram(f"operator #{number} has code {code} of {len(self._names)}")
            name = self._names[code]
            label = f"{name} #{number}"
            inputs = table.int32s(schema.OperatorTable.INPUTS)
            outputs = table.int32s(schema.OperatorTable.OUTPUTS)
            frame.checked([index for index in (*inputs, *outputs) if index != -1], label)
            operator = Operator(label, table, inputs, outputs)
            match name:
                case "CALL_ONCE":
                    self._call_once(operator, depth + 1)
                case "VAR_HANDLE":
                    frame.resources[operator.only(outputs)] = operator.resource
                case "READ_VARIABLE":
                    variable = self._variable(frame, operator, operator.only(outputs))
                    out = self._use(frame, operator.only(outputs))
                    self._instructions.append(KernelInstruction(PREFIX + name, (variable, out)))
                case "ASSIGN_VARIABLE":
                    self._assign(frame, operator, name)
                case "IF":
                    self._branch(frame, operator, depth + 1)
                case _:
                    if name == _LSTM and self._keep_state:
                        self._keep_lstm(frame, operator)
                    arguments = self._arguments(frame, operator, FORMS.get(name))
                    self._name_layer(frame, operator)
                    self._instructions.append(KernelInstruction(PREFIX + name, arguments))

    def _name_layer(self, frame: Frame, operator: Operator) -> None:
        """By the first output's tensor: of those that a converter merged, the first."""
        for index in operator.outputs[:1]:
            try:
                name = frame.tensors[index].string(schema.TensorTable.NAME).partition(";")[0]
            except InvalidProgram:  # only people read it
                continue
            if name.strip() and name.isprintable() and len(name) <= LONGEST_NAME:
                self.layers[len(self._instructions)] = name

    def _arguments(self, frame: Frame, operator: Operator, form: Form | None) -> tuple[int, ...]:
        if form is None:
            return tuple(self._use(frame, i) for i in (*operator.inputs, *operator.outputs))
        label = operator.label
        options = operator.options(form.table)
        before = [self._operand(frame, x) for x in assign(label, form.inputs, operator.inputs)]
        between = [self._add(option.read(options)) for option in form.options]
        after = [self._operand(frame, x) for x in assign(label, form.outputs, operator.outputs)]
        return (*before, *between, *after)

    def _operand(self, frame: Frame, operand: int | tuple[int, ...]) -> int:
        if isinstance(operand, int):
            return self._use(frame, operand)
        members = tuple(None if i == -1 else self._use(frame, i) for i in operand)
        return self._add(TensorList(members))

    def _use(self, frame: Frame, index: int) -> int:
        """The value of a tensor that something reads or writes; of -1, the one that is None."""
        if index == -1:
            if self._none is None:
                self._none = self._add(None)
            return self._none
        if index not in frame.values:
            tensor = read_tensor(index, frame.tensors[index], self._buffers)
            frame.values[index] = self._add(tensor)
        return frame.values[index]

    def _add(self, value: Value) -> int:
        self._values.append(value)
        return len(self._values) - 1

    # Variables

    def _call_once(self, operator: Operator, depth: int) -> None:
        """Takes the constants that a subgraph assigns to variables as their initial contents."""
        if depth > DEEPEST:
            raise Unsupported(f"{operator.label} is not in the main subgraph")
        options = operator.options(BuiltinOptions.CallOnceOptions)
        frame = self._subgraph(operator, 0 if options is None else options.int32(0))
        reading = _Reading(self._subgraphs, self._buffers, self._names)
        for resource, source in reading.assigned(frame, operator.label).items():
            self._initial.setdefault(resource, source)

    def assigned(self, frame: Frame, label: str) -> dict[str, TensorValue]:
        """The constants that a subgraph assigns to variables, by those.

        Raises:
            Unsupported: it does anything else.
        """
        self._operators(frame, DEEPEST)
        values = {}
        resources = {index: resource for resource, index in self._variables.items()}
        for call in self._instructions:
            value: Value = None
            if isinstance(call, KernelInstruction) and call.operator == _ASSIGN:
                value = self._values[call.arguments[0]]
            if not isinstance(value, TensorValue) or not value.is_constant:
                raise Unsupported(f"{label} calls what computes initial contents")
            assert isinstance(call, KernelInstruction)
            values[resources[call.arguments[1]]] = value
        return values

    def _variable(self, frame: Frame, operator: Operator, like: int) -> int:
        """The value of the variable that an operator names first.

        Args:
            like: a tensor of its type and shape.
        """
        handle = operator.inputs[0] if operator.inputs else -1
        if handle not in frame.resources:
            raise Unsupported(f"{operator.label} does not name a variable of VAR_HANDLE")
        resource = frame.resources[handle]
        tensor = read_tensor(like, frame.tensors[like], self._buffers)
        if resource not in self._variables:
            initial = self._initial.get(resource)
            data = memoryview(bytes(tensor.nbytes))
            if initial is not None:
                data = initial.data or data
                if (initial.dtype, initial.sizes) != (tensor.dtype, tensor.sizes):
                    raise Unsupported(f"{operator.label} takes {tensor}, not {initial}")
            self._variables[resource] = self._keep(tensor, data)
        known = self._values[self._variables[resource]]
        assert isinstance(known, TensorValue)
        if (known.dtype, known.sizes) != (tensor.dtype, tensor.sizes):
            raise Unsupported(f"{operator.label} takes {tensor}, not {known}")
        return self._variables[resource]

    def _assign(self, frame: Frame, operator: Operator, name: str) -> None:
        if len(operator.inputs) != 2 or operator.inputs[1] == -1:
            raise InvalidProgram(f"{operator.label} has {len(operator.inputs)} operands, not 2")
        source = self._use(frame, operator.inputs[1])
        variable = self._variable(frame, operator, operator.inputs[1])
        self._instructions.append(KernelInstruction(PREFIX + name, (source, variable)))

    def _keep(self, tensor: TensorValue, data: memoryview) -> int:
        """A value with memory of its own, which keeps its content from run to run.

        Args:
            data: before the first run.
        """
        place = Allocation(len(self._kept) + 1, 0)
        self._kept.append(self._add(replace(tensor, data=data, allocation=place)))
        return self._kept[-1]

    def _keep_lstm(self, frame: Frame, operator: Operator) -> None:
        """Keeps an LSTM's variables; they begin as zero points, which stand for 0."""
        operands = zip(FORMS[_LSTM].inputs, operator.inputs, strict=False)
        for index in [index for operand, index in operands if operand.name in _LSTM_STATE]:
            if index in frame.values or index == -1:
                continue
            tensor = read_tensor(index, frame.tensors[index], self._buffers)
            if not tensor.is_constant:
                frame.values[index] = self._keep(tensor, memoryview(_zeros(tensor)))

    def _size(self, index: int) -> int:
        value = self._values[index]
        assert isinstance(value, TensorValue)
        return value.nbytes

    # Branches

    def _branch(self, frame: Frame, operator: Operator, depth: int) -> None:
        """Both subgraphs, as torch.cond lays them out: see importer/control.py."""
        if depth > DEEPEST:
            raise Unsupported(f"{operator.label} is a branch nested in {DEEPEST} others")
        if not operator.inputs:
            raise InvalidProgram(f"{operator.label} has no condition")
        options = operator.options(BuiltinOptions.IfOptions)
        condition = self._use(frame, operator.inputs[0])
        ways = [0 if options is None else options.int32(slot) for slot in (0, 1)]
        jump = len(self._instructions)
        self._instructions.append(JumpFalseInstruction(condition, 0))
        self._way(frame, operator, ways[0], depth)
        end = len(self._instructions)
        never = self._add(False)
        self._instructions.append(JumpFalseInstruction(never, 0))
        self._instructions[jump] = JumpFalseInstruction(condition, end + 1)
        self._way(frame, operator, ways[1], depth)
        self._instructions[end] = JumpFalseInstruction(never, len(self._instructions))

    def _way(self, frame: Frame, operator: Operator, number: int, depth: int) -> None:
        inner = self._subgraph(operator, number)
        given = inner.indices(SubGraphTable.INPUTS, "input")
        taken = operator.inputs[1:]
        if len(given) != len(taken):
            raise InvalidProgram(f"{operator.label} gives {len(taken)} inputs, not {len(given)}")
        for outer, own in zip(taken, given, strict=True):
            move = MoveInstruction(self._use(frame, outer), self._use(inner, own))
            self._instructions.append(move)
        self._operators(inner, depth)
        made = inner.indices(SubGraphTable.OUTPUTS, "output")
        if len(made) != len(operator.outputs):
            raise InvalidProgram(
                f"{operator.label} takes {len(operator.outputs)} outputs, not {len(made)}"
            )
        for outer, own in zip(operator.outputs, made, strict=True):
            move = MoveInstruction(self._use(inner, own), self._use(frame, outer))
            self._instructions.append(move)

    def _subgraph(self, operator: Operator, number: int) -> Frame:
        if not 0 < number < len(self._subgraphs):
            raise InvalidProgram(
                f"{operator.label} calls subgraph {number} of {len(self._subgraphs)}"
            )
        return Frame.of(self._subgraphs[number])


def _zeros(tensor: TensorValue) -> bytes:
    """A tensor's bytes if all its elements stand for 0."""
    stored = tensor.quantization
    limits = np.iinfo(tensor.dtype) if tensor.dtype.kind in "iu" else None
    zero = 0 if stored is None or limits is None else stored.zero_points[0]
    if limits is not None and not limits.min <= zero <= limits.max:
        raise Unsupported(f"a variable of {tensor} has zero point {zero}")
    return np.full(tensor.sizes, zero, tensor.dtype).tobytes()
