"""Maps the values of a method to tensors while its instructions become nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.decode.contents import Contents
from cmcompiler.errors import InvalidProgram, Unsupported
from cmcompiler.ir.graph import MutableBuffer
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.tensor import HeldValue, Tensor
from cmcompiler.pte.program import Method, TensorValue, Value


class Scope:
    """The tensor of each value at the current point of the method.

    Attributes:
        values: of the method.
        contents: current contents of the values.
        states: mutable buffers, each with its current contents as `final`.
    """

    def __init__(self, method: Method) -> None:
        self.values: tuple[Value, ...] = method.values
        self.states: list[MutableBuffer] = []
        self._inputs: dict[int, int] = {}
        self.contents = Contents()
        self._constants: dict[int, Operand] = {}
        self._names: dict[str, int] = {}

    def new(
        self,
        name: str,
        dtype: np.dtype[Any],
        shape: Sequence[int],
        data: npt.NDArray[Any] | None = None,
        held: HeldValue | None = None,
    ) -> Tensor:
        """A tensor with a unique name based on `name`."""
        stem = name.partition(".")[0]
        count = self._names.get(stem, 0)
        self._names[stem] = count + 1
        return Tensor(f"{stem}.{count}" if count else stem, dtype, tuple(shape), data, held)

    def input(self, index: int, value: TensorValue) -> Tensor:
        """Makes a value an input of the method.

        Raises:
            InvalidProgram: it is a constant, or shares memory with another input.
        """
        name = f"input_{len(self._inputs)}"
        if index in self._inputs:
            raise InvalidProgram(f"{name} is the same value as input_{self._inputs[index]}")
        if value.is_constant:
            raise InvalidProgram(f"{name} is a constant")
        tensor = self.new(name, value.dtype, value.physical_shape)
        overwritten = self.write(index, tensor)
        if overwritten:
            raise InvalidProgram(f"{name} shares memory with {overwritten[0].tensor.name}")
        self._inputs[index] = len(self._inputs)
        return tensor

    def declare(self, index: int) -> None:
        """Makes a value a mutable buffer, unless another value in the same memory is one."""
        value = self.tensor_value(index, "method", "mutable buffer")
        if value.is_constant or self.state(index) is not None:
            return
        name, shape = f"state_{len(self.states)}", value.physical_shape
        tensor = self.new(name, value.dtype, shape)
        initial = np.zeros(shape, value.dtype)
        if value.data is not None:
            initial = _array(value, value.data)
        self.states.append(MutableBuffer(tensor, tensor, initial))
        self.write(index, tensor)

    def state(self, index: int) -> MutableBuffer | None:
        """The mutable buffer that shares a value's memory."""
        held = self.contents.read(index, self.tensor_value(index, "method", "mutable buffer"))
        held_states = (state for state in self.states if held and held.tensor is state.final)
        return next(held_states, None)

    def is_kept(self, index: int, reader: str, argument: str) -> bool:
        """Whether a value is a mutable buffer, else nothing writes it.

        Raises:
            InvalidProgram: it is not a tensor.
            Unsupported: it is a constant, an input, or computed.
        """
        value = self.tensor_value(index, reader, argument)
        if self.state(index) is not None:
            return True
        if value.is_constant or self.contents.read(index, value) is not None:
            raise Unsupported(f"{reader}: {argument} is not a variable of its own")
        return False

    def store(self, index: int, tensor: Tensor, state: MutableBuffer, writer: str) -> Tensor:
        """Makes a value refer to the new contents of its mutable buffer, a tensor that it returns.

        Raises:
            Unsupported: they have another type or layout.
        """
        if (tensor.dtype, tensor.shape) != (state.tensor.dtype, state.tensor.shape):
            raise Unsupported(
                f"{writer}: {state.tensor.name}, a mutable buffer, is written with another shape "
                "or layout"
            )
        held = self.new(state.tensor.name, tensor.dtype, tensor.shape)
        place = [known.tensor for known in self.states].index(state.tensor)
        self.states[place] = replace(state, final=held)
        self.write(index, held)
        return held

    def read(self, index: int, reader: str, argument: str) -> Operand:
        """The operand in a value's memory: the value itself, or what it is an elided view of.

        Args:
            reader: for messages.
            argument: its role for the reader.

        Raises:
            InvalidProgram: the value is not a tensor.
            Unsupported: some of its memory was never written.
        """
        value = self.tensor_value(index, reader, argument)
        if value.data is not None and value.is_constant:
            return self._constant(index, value, value.data)
        held = self.contents.read(index, value)
        if held is None and value.nbytes == 0:
            return self._constant(index, value, memoryview(b""))
        if held is None or held.dtype != value.dtype:
            raise Unsupported(
                f"{reader}: {argument}, {value}, is read from uninitialised memory",
                "views of parts of a tensor and unwritten buffers are not supported",
            )
        return held

    def result(self, index: int, writer: str, argument: str) -> Tensor:
        """A new tensor for an instruction to write.

        Raises:
            InvalidProgram: the value is not a tensor, or a constant.
        """
        value = self.check_written(index, writer, argument)
        held = HeldValue(index, value.sizes, value.dim_order)
        return self.new(f"value_{index}", value.dtype, value.physical_shape, held=held)

    def check_written(self, index: int, writer: str, argument: str) -> TensorValue:
        """A value that an instruction may write.

        Raises:
            InvalidProgram: the value is not a tensor, or a constant.
        """
        value = self.tensor_value(index, writer, argument)
        if value.is_constant:
            raise InvalidProgram(f"{writer}: {argument} is a constant")
        return value

    def write(self, index: int, tensor: Tensor) -> tuple[Operand, ...]:
        """Assigns a tensor to a value; returns what it overwrote."""
        value = self.tensor_value(index, tensor.name, "value")
        return self.contents.write(index, value, Operand(tensor, value.sizes, value.dim_order))

    def tensor_value(self, index: int, user: str, argument: str) -> TensorValue:
        """A value that must be a tensor.

        Raises:
            InvalidProgram: it is not.
        """
        value = self.values[index]
        if not isinstance(value, TensorValue):
            raise InvalidProgram(f"{user}: {argument} is not a tensor")
        return value

    def _constant(self, index: int, value: TensorValue, data: memoryview) -> Operand:
        if index not in self._constants:
            shape = value.physical_shape
            tensor = self.new(f"constant_{index}", value.dtype, shape, _array(value, data))
            self._constants[index] = Operand(tensor, value.sizes, value.dim_order)
        return self._constants[index]


def _array(value: TensorValue, data: memoryview) -> npt.NDArray[Any]:
    """A value's bytes in its physical shape."""
    array = np.frombuffer(data, np.uint8 if value.dtype == np.bool_ else value.dtype)
    # Any byte except 0 is true, and NumPy relies on true being 1.
    array = array != 0 if value.dtype == np.bool_ else array
    return array.reshape(value.physical_shape)
