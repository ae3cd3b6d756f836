"""Ops without kernels and small graphs of them, for tests that need no real ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cmcompiler.ir.graph import Graph, Node, Port
from cmcompiler.ir.op import Address, KernelCall, Op, Packed, Scratch, Word
from cmcompiler.ir.tensor import Tensor
from cmcompiler.isa import Isa, Microkernel


@dataclass(frozen=True)
class Sum(Op):
    """Adds its inputs; every property a plan depends on is a parameter."""

    inplace: frozenset[int] = frozenset()
    scratch: tuple[int, ...] = ()
    table: bytes = b""
    calls: int = 1
    exact: bool = True  # type: ignore[misc]
    microkernel: Microkernel | None = None
    macs: int = 0
    extra: Word = 0

    label = "sum"

    @property
    def in_place(self) -> frozenset[int]:
        return self.inplace

    def reference(self, *inputs: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        return (np.sum(inputs, axis=0),)

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        arguments: list[tuple[str, Word]] = [
            *((f"input{i}", Address(tensor)) for i, tensor in enumerate(inputs)),
            *((f"output{i}", Address(tensor)) for i, tensor in enumerate(outputs)),
            *((f"scratch{i}", Scratch(size)) for i, size in enumerate(self.scratch)),
            ("table", Packed(self.table)),
            ("count", outputs[0].numel),
            ("extra", self.extra),
        ]
        return [KernelCall("sum", arguments, microkernel=self.microkernel)] * self.calls


@dataclass(frozen=True)
class Same(Op):
    """A view of its input."""

    label = "same"

    @property
    def view_of(self) -> int | None:
        return 0

    def reference(self, *inputs: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        return inputs

    def kernel_calls(
        self, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...], isa: Isa
    ) -> Sequence[KernelCall]:
        raise AssertionError("a view needs no kernel")


@dataclass(frozen=True)
class Tail(Same):
    """A view of the end of its input."""

    offset: int = 0

    @property
    def view_offset(self) -> int:
        return self.offset

    def reference(self, *inputs: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        return (inputs[0][self.offset :],)


def tensor(name: str, size: int) -> Tensor:
    """An int8 tensor of `size` bytes."""
    return Tensor(name, np.dtype(np.int8), (size,))


def constant(name: str, data: bytes) -> Tensor:
    return Tensor(name, np.dtype(np.int8), (len(data),), np.frombuffer(data, np.int8))


def node(op: Op, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Node:
    return Node(op, tuple(inputs), tuple(outputs), f"toy::{op.label}.out -> {outputs[0].name}")


def graph(nodes: Sequence[Node], inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Graph:
    return Graph(
        "toy",
        tuple(nodes),
        tuple(_port(f"input_{i}", tensor) for i, tensor in enumerate(inputs)),
        tuple(_port(f"output_{i}", tensor) for i, tensor in enumerate(outputs)),
    )


def _port(name: str, tensor: Tensor) -> Port:
    return Port(name, tensor, tensor.shape, tuple(range(len(tensor.shape))))
