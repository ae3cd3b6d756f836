"""One instruction of a program, as its operator's reader sees it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.typing import DTypeLike

from cmcompiler.decode.scope import Scope
from cmcompiler.errors import InvalidProgram, Unsupported, WrongType
from cmcompiler.ir.graph import Node
from cmcompiler.ir.movement.store import Store
from cmcompiler.ir.movement.transpose import Transpose
from cmcompiler.ir.movement.view import View
from cmcompiler.ir.op import Op
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.tensor import Tensor
from cmcompiler.pte.program import StoredQuantization, TensorList, TensorValue, Value
from cmcompiler.pte.schema import DTYPES

CONTIGUOUS_4D = (0, 1, 2, 3)
CHANNELS_LAST_4D = (0, 2, 3, 1)

T = TypeVar("T")


class Call:
    """Typed, checked access to the arguments of one instruction; collects the nodes it becomes.

    Arguments are requested by their names in the operator's declaration. Arguments never requested,
    such as scratch tensors, do not appear in the graph.

    Attributes:
        operator: full name, `cortex_m::pad.out`.
        source: operator and instruction, for messages: `cortex_m::pad.out #12`.
        nodes: emitted so far.
    """

    def __init__(
        self,
        operator: str,
        names: Iterable[str],
        source: str,
        arguments: Sequence[int],
        scope: Scope,
    ) -> None:
        self.operator = operator
        self.source = source
        self.nodes: list[Node] = []
        self._scope = scope
        self._arguments = dict(zip(names, arguments, strict=False))
        self._results: dict[int, Tensor] = {}
        self._writers: dict[int, str] = {}
        self._epilogue: list[Node] = []

    # Tensors

    def tensor(self, name: str, *, dtype: DTypeLike = None, rank: int | None = None) -> Operand:
        """A tensor argument.

        Raises:
            Unsupported: unexpected dtype or rank.
            InvalidProgram: not a tensor, or its memory was never written.
        """
        operand = self.optional(name, dtype=dtype, rank=rank)
        if operand is None:
            self.invalid(f"{name} is None")
        return operand

    def optional(
        self, name: str, *, dtype: DTypeLike = None, rank: int | None = None
    ) -> Operand | None:
        """As tensor(), or None for an absent `Tensor?`."""
        index = self._arguments[name]
        if self._scope.values[index] is None:
            return None
        operand = self._read(name, index)
        self._check_dtype(name, operand, dtype)
        if rank is not None and operand.rank != rank:
            self.unsupported(f"{name} has {operand.rank} dimensions, not {rank}")
        return operand

    def tensors(self, name: str) -> tuple[Operand, ...]:
        """The members of a `Tensor[]`."""
        operands = self.optional_tensors(name)
        if None in operands:
            self.invalid(f"a member of {name} is None")
        return tuple(operand for operand in operands if operand is not None)

    def optional_tensors(self, name: str) -> tuple[Operand | None, ...]:
        """The members of a `Tensor?[]`."""
        members = self._members(name)
        return tuple(None if index is None else self._read(name, index) for index in members)

    def constant(
        self, name: str, *, dtype: DTypeLike = None, rank: int | None = None
    ) -> npt.NDArray[Any]:
        """The array of a constant tensor, in its logical shape.

        Raises:
            Unsupported: unexpected dtype or rank, or computed by the program.
            InvalidProgram: not a tensor, or its memory was never written.
        """
        data = self.tensor(name, dtype=dtype, rank=rank).data
        if data is None:
            self.unsupported(f"{name} is not constant")
        return data

    def optional_constant(
        self, name: str, *, dtype: DTypeLike = None, rank: int | None = None
    ) -> npt.NDArray[Any] | None:
        """As constant(), or None for an absent `Tensor?`."""
        if self.is_none(name):
            return None
        return self.constant(name, dtype=dtype, rank=rank)

    def nhwc(self, name: str, *, dtype: DTypeLike = None) -> Tensor:
        """An image of logical shape NCHW (NHWC for an `_nhwc` operator) as a tensor [N, H, W, C].

        Emits a transpose if memory has another layout.
        """
        return self.arrange(self.tensor(name, dtype=dtype, rank=4), self.image_order)

    def arrange(self, operand: Operand, order: Sequence[int]) -> Tensor:
        """The operand with its logical dimensions in physical `order`, outermost first."""
        order = tuple(order)
        shape = self._arranged(operand, order)
        if operand.dim_order == order:
            return operand.tensor
        if operand.data is not None:
            data = np.ascontiguousarray(operand.data.transpose(order))
            return self._scope.new(operand.tensor.name, operand.dtype, shape, data)
        arranged = self._scope.new(operand.tensor.name, operand.dtype, shape)
        self.emit(self._movement(operand, order), [operand.tensor], [arranged])
        return arranged

    def reshape(self, source: Operand, shape: tuple[int, ...]) -> Operand:
        """The operand under another logical shape, torch's `x.reshape(shape)`.

        Memory does not move if only dimensions of size 1 are added or removed.
        """
        if source.shape == shape:
            return source
        old = [dim for dim, size in enumerate(source.shape) if size != 1]
        new = [dim for dim, size in enumerate(shape) if size != 1]
        order = tuple(range(len(shape)))
        tensor = source.tensor
        if [source.shape[dim] for dim in old] == [shape[dim] for dim in new]:
            ones = [dim for dim, size in enumerate(shape) if size == 1]
            kept = [new[old.index(dim)] for dim in source.dim_order if dim in old]
            order = (*ones, *kept)
        else:
            tensor = self.arrange(source, range(source.rank))
        physical = tuple(shape[dim] for dim in order)
        reshaped = self.temporary(source.dtype, physical)
        self.emit(View(physical), [tensor], [reshaped])
        return Operand(reshaped, shape, order)

    # Results

    def output(self, name: str = "out", *, dtype: DTypeLike = None) -> Operand:
        """A tensor that the operator writes; some emitted node must output it.

        An operator without this parameter writes its `self` in place.

        Raises:
            Unsupported: unexpected dtype.
            InvalidProgram: not a tensor, or a constant.
        """
        name = name if name in self._arguments else "self"
        operand = self._write(name, self._arguments[name])
        self._check_dtype(name, operand, dtype)
        return operand

    def outputs(self, name: str = "out") -> tuple[Operand, ...]:
        """The tensors of an output that is a `Tensor[]`."""
        members = self._members(name)
        if None in members:
            self.invalid(f"a member of {name} is None")
        return tuple(
            self._write(f"{name}[{place}]", index)
            for place, index in enumerate(members)
            if index is not None
        )

    def nhwc_output(self, name: str = "out") -> Tensor:
        """A tensor [N, H, W, C] to write; a transpose follows if the program uses another order."""
        operand = self.output(name)
        if operand.rank != 4:
            self.unsupported(f"{name} has {operand.rank} dimensions, not 4")
        return self.arranged_output(operand, self.image_order)

    def arranged_output(self, operand: Operand, order: Sequence[int]) -> Tensor:
        """A tensor to write whose physical dimensions are the logical ones in `order`."""
        order = tuple(order)
        if operand.dim_order == order:
            return operand.tensor
        shape = self._arranged(operand, order)
        held = operand.tensor.held and replace(operand.tensor.held, dim_order=order)
        arranged = self._scope.new(operand.tensor.name, operand.dtype, shape, held=held)
        movement = self._movement(Operand(arranged, operand.shape, order), operand.dim_order)
        self._epilogue.append(Node(movement, (arranged,), (operand.tensor,), self.source))
        return arranged

    def _arranged(self, operand: Operand, order: tuple[int, ...]) -> tuple[int, ...]:
        """The physical shape; operators that take several ranks may forget to compare them."""
        if operand.rank != len(order):
            self.invalid(f"a tensor of {operand.rank} dimensions, not {len(order)}")
        return tuple(operand.shape[dim] for dim in order)

    def move(self, source: Operand, target: Operand) -> None:
        """Copies an operand to an output of the same logical shape."""
        movement = self._movement(source, target.dim_order)
        self.emit(movement, [source.tensor], [target.tensor])

    def temporary(self, dtype: DTypeLike, shape: Sequence[int]) -> Tensor:
        """A tensor between two nodes of this call."""
        return self._scope.new("temporary", np.dtype(dtype), tuple(shape))

    def intermediate(self, dtype: DTypeLike, shape: Sequence[int], order: Sequence[int]) -> Operand:
        """A tensor between two nodes of this call, of a logical shape and a physical order."""
        tensor = self.temporary(dtype, [shape[dim] for dim in order])
        return Operand(tensor, tuple(shape), tuple(order))

    def literal(self, array: npt.NDArray[Any]) -> Operand:
        """A new constant of this logical shape."""
        tensor = self._scope.new("literal", array.dtype, array.shape, np.asarray(array, order="C"))
        return Operand(tensor, array.shape, tuple(range(array.ndim)))

    def emit(self, op: Op, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        """Appends a node.

        Raises:
            Unsupported: an output's element type differs from the op's.
        """
        for tensor in outputs:
            if op.element not in (None, tensor.dtype):
                self.unsupported(f"the output is {tensor.dtype.name}, not {op.element}")
        self.nodes.append(Node(op, tuple(inputs), tuple(outputs), self.source))

    def emit_last(self, op: Op, source: Tensor, output: Tensor) -> None:
        """Appends a node behind all that are emitted."""
        self._epilogue.append(Node(op, (source,), (output,), self.source))

    # Numbers

    def integer(self, name: str, low: int | None = None, high: int | None = None) -> int:
        """An `int`, within [low, high] if given."""
        value = self._value(name)
        if type(value) is not int:
            self.invalid(f"{name} is not an integer")
        self._check_range(name, value, low, high)
        return value

    def number(self, name: str) -> float:
        """A `float` or `Scalar` as a float."""
        return float(self.scalar(name))

    def scalar(self, name: str) -> int | float | bool:
        """A `Scalar`, with the type it has in the program."""
        value = self._value(name)
        if not isinstance(value, (bool, int, float)):
            self.invalid(f"{name} is not a number")
        return value

    def boolean(self, name: str) -> bool:
        return self._typed(name, bool, "boolean")

    def string(self, name: str) -> str:
        """A `str` that fits in a message."""
        value = self._typed(name, str, "string")
        if not value.isprintable():
            self.invalid(f"{name} is not printable")
        return value

    def integers(
        self,
        name: str,
        count: int | None = None,
        low: int | None = None,
        high: int | None = None,
    ) -> tuple[int, ...]:
        """An `int[]`, of `count` items within [low, high] if given."""
        items = self._items(name, int, "integers")
        if count is not None and len(items) != count:
            self.invalid(f"{name} has {len(items)} items, not {count}")
        for item in items:
            self._check_range(name, item, low, high)
        return items

    def dimension(self, name: str, rank: int) -> int:
        """An `int` that names one of `rank` dimensions; a negative one is made positive."""
        return self.integer(name, -rank, rank - 1) % rank

    def dimensions(self, name: str, rank: int) -> tuple[int, ...]:
        """An `int[]` of distinct dimensions out of `rank`; negative ones are made positive."""
        dims = tuple(dim % rank for dim in self.integers(name, None, -rank, rank - 1))
        if len(set(dims)) != len(dims):
            self.invalid(f"{name} has a dimension twice")
        return dims

    def numbers(self, name: str) -> tuple[float, ...]:
        """A `float[]`."""
        return self._items(name, float, "floats")

    def dtype(self, name: str) -> np.dtype[Any]:
        """A `ScalarType`."""
        code = self.integer(name)
        if code not in DTYPES:
            self.unsupported(f"{name} is scalar type {code}")
        return DTYPES[code]

    def quantization(self, name: str) -> StoredQuantization:
        """How the integers of a tensor argument represent real numbers, as the program must say."""
        value = self._scope.tensor_value(self._arguments[name], self.source, name)
        if value.quantization is None:
            self.invalid(f"{name} is not quantised")
        return value.quantization

    def element(self, name: str) -> np.dtype[Any]:
        """The element type of a tensor argument, read or written."""
        return self._scope.tensor_value(self._arguments[name], self.source, name).dtype

    def member_quantization(self, name: str, place: int) -> StoredQuantization | None:
        """As quantization(), of a member of a `Tensor[]`; None if the program does not say so."""
        index = self._members(name)[place]
        value = None if index is None else self._scope.values[index]
        return value.quantization if isinstance(value, TensorValue) else None

    def is_none(self, name: str) -> bool:
        return self._value(name) is None

    def is_kept(self, name: str) -> bool:
        """Whether a tensor argument keeps its content from run to run; as Scope.is_kept."""
        return self._scope.is_kept(self._arguments[name], self.source, name)

    # Refusals

    def unsupported(self, reason: str, hint: str | None = None) -> NoReturn:
        """Refuses a valid instruction that no kernel can run."""
        raise Unsupported(f"{self.source}: {reason}", hint)

    def wrong_type(self, reason: str) -> NoReturn:
        """Refuses a valid instruction on numbers of a type that no kernel computes with."""
        raise WrongType(f"{self.source}: {reason}")

    def invalid(self, reason: str) -> NoReturn:
        """Refuses an instruction that no exporter writes."""
        raise InvalidProgram(f"{self.source}: {reason}")

    # For the builder

    def finish(self) -> list[Node]:
        """The nodes in order; stores the results at their places in memory.

        Raises:
            ValueError: the reader did not write a result exactly once.
        """
        nodes = [*self.nodes, *self._epilogue]
        written = [id(tensor) for node in nodes for tensor in node.outputs]
        for tensor in self._results.values():
            if written.count(id(tensor)) != 1:
                raise ValueError(f"the reader of {self.operator} must write {tensor.name} once")
        for index, tensor in self._results.items():
            state = self._scope.state(index)
            if state is None:
                self._scope.write(index, tensor)
            else:
                kept = self._scope.store(index, tensor, state, self.source)
                nodes.append(Node(Store(), (state.final, tensor), (kept,), self.source))
        return nodes

    @property
    def image_order(self) -> tuple[int, ...]:
        """The logical dimensions of the operator's images that are N, H, W and C."""
        is_explicit = self.operator.partition(".")[0].endswith("_nhwc")
        return CONTIGUOUS_4D if is_explicit else CHANNELS_LAST_4D

    def _value(self, name: str) -> Value:
        return self._scope.values[self._arguments[name]]

    def _typed(self, name: str, expected: type[T], noun: str) -> T:
        value = self._value(name)
        if not isinstance(value, expected):
            self.invalid(f"{name} is not a {noun}")
        return value

    def _items(self, name: str, expected: type[T], noun: str) -> tuple[T, ...]:
        value = self._value(name)
        if type(value) is expected:  # a single value may stand for a list of one
            return (value,)
        if not isinstance(value, tuple):
            self.invalid(f"{name} is not a list")
        items = tuple(item for item in value if type(item) is expected)
        if len(items) != len(value):
            self.invalid(f"{name} is not a list of {noun}")
        return items

    def _members(self, name: str) -> tuple[int | None, ...]:
        value = self._value(name)
        if not isinstance(value, TensorList):
            self.invalid(f"{name} is not a list of tensors")
        return value.items

    def _check_dtype(self, name: str, operand: Operand, dtype: DTypeLike) -> None:
        if dtype is not None and operand.dtype != np.dtype(dtype):
            self.wrong_type(f"{name} is {operand.dtype.name}, not {np.dtype(dtype).name}")

    def _check_range(self, name: str, value: int, low: int | None, high: int | None) -> None:
        if (low is not None and value < low) or (high is not None and value > high):
            limits = f"{'' if low is None else low}..{'' if high is None else high}"
            self.unsupported(f"{name} = {value} is outside {limits}")

    def _read(self, name: str, index: int) -> Operand:
        value = self._scope.tensor_value(index, self.source, name)
        held = self._scope.read(index, self.source, name)
        if (held.shape, held.dim_order) == (value.sizes, value.dim_order):
            return held
        views = self._scope.contents.views
        key = (held.tensor, value.sizes, value.dim_order)
        if key not in views:
            views[key] = self._view(held, value)
        return Operand(views[key], value.sizes, value.dim_order)

    def _view(self, held: Operand, value: TensorValue) -> Tensor:
        """Emits a view that the program elided."""
        first = len(self.nodes)
        view = self.arrange(self.reshape(held, value.sizes), value.dim_order)
        source = f"view of {held.tensor.name}"
        self.nodes[first:] = [replace(node, source=source) for node in self.nodes[first:]]
        return view

    def _write(self, name: str, index: int) -> Operand:
        value = self._scope.tensor_value(index, self.source, name)
        if self._writers.setdefault(index, name) != name:
            self.invalid(f"{self._writers[index]} and {name} are one tensor")
        if index not in self._results:
            self._results[index] = self._scope.result(index, self.source, name)
        return Operand(self._results[index], value.sizes, value.dim_order)

    def _movement(self, operand: Operand, order: tuple[int, ...]) -> Op:
        """The op that moves the operand's memory to another physical order."""
        if operand.lies_as(order):
            return View(tuple(operand.shape[dim] for dim in order))
        return Transpose(tuple(operand.dim_order.index(dim) for dim in order))
