"""Which value of a program is which node of its float graph. Importing it imports torch."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, prod
from operator import getitem
from typing import Any

import numpy as np
import torch
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import FixedQParamsObserver

from cmcompiler.decode.registry import operators
from cmcompiler.frontend.call_sites import marked
from cmcompiler.frontend.operators import grid
from cmcompiler.frontend.rewrites.clamps import bounds_of
from cmcompiler.frontend.rewrites.exclusions import PADS, padding_of
from cmcompiler.ir.graph import Graph
from cmcompiler.ir.tensor import HeldValue, Tensor
from cmcompiler.ops.attention import Attention
from cmcompiler.ops.change_scale import ChangeScale
from cmcompiler.ops.dequantize import Dequantize
from cmcompiler.ops.quantize import Quantize
from cmcompiler.ops.support.recurrence import Recurrence
from cmcompiler.pte.program import KernelInstruction, Method, TensorList, TensorValue

_DTYPES = {
    np.dtype(np.int8): torch.int8,
    np.dtype(np.uint8): torch.uint8,
    np.dtype(np.int16): torch.int16,
    np.dtype(np.int32): torch.int32,
}


_aten = torch.ops.aten
_VIEWS = {
    *(_aten.view.default, _aten.reshape.default, _aten.flatten.using_ints),
    *(_aten.squeeze.default, _aten.squeeze.dim, _aten.squeeze.dims, _aten.unsqueeze.default),
    *(_aten.stack.default, _aten.affine_grid_generator.default),
    *grid.OPERATORS,
}
"""A lowering may make their elements in another shape, in the same order."""
_DIVISIONS = {
    *(_aten.unbind.int, _aten.split.Tensor, _aten.split.sizes, _aten.split_with_sizes.default),
    *(_aten.chunk.default, _aten.tensor_split.sections, _aten.tensor_split.indices),
}
"""A lowering takes each of their results by itself, in order."""

_SLACK = 0.01
"""Steps that the check's own arithmetic may be off."""

_EXACT_ROUNDING = 0.5
"""Steps that inputs may be off, and layers compared part by part, where a step is the sum of those
of all roundings."""

_OUTPUT_SLACK = 0.06
"""Slack at outputs in float, whose steps are those of single precision."""


@dataclass(frozen=True, slots=True)
class StepRange:
    """How the float graph says that a tensor is quantised.

    Attributes:
        least, largest: stored integers.
        is_fixed: by the operator, whatever calibration saw.
    """

    scale: float
    zero_point: int
    least: int
    largest: int
    is_fixed: bool

    @classmethod
    def of(cls, observer: Any) -> StepRange:
        scale, zero_point = observer.calculate_qparams()
        limits = observer.quant_min, observer.quant_max
        is_fixed = isinstance(observer, FixedQParamsObserver)
        return cls(float(scale), int(zero_point), *limits, is_fixed)

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest number."""
        least, largest = self.least - self.zero_point, self.largest - self.zero_point
        return least * self.scale, largest * self.scale


@dataclass(frozen=True, eq=False, slots=True)
class ValuePair:
    """A value of a program and the node of the float graph that computes it.

    Attributes:
        node: in float; of a layer fused of several nodes the last.
        name: of the layer, as `mark` gave it.
        tensor: of the program's graph, which holds the value.
        held: how.
        range: None where the program has the number itself.
        bound: steps: see Op.error_steps.
        by_part: the value of a recurrent layer or of attention, whose parts are compared.
        part: what such a layer computes on the way; empty for the value itself.
    """

    node: Node
    name: str
    tensor: Tensor
    held: HeldValue
    range: StepRange | None
    bound: float
    by_part: bool = False
    part: str = ""


@dataclass(frozen=True, slots=True)
class Pairing:
    """
    Attributes:
        inputs: of the program, as it quantises them.
        outputs: of the program, as far as they are what some pairs hold, in real numbers.
        unpaired: layers without a counterpart, each by an instruction: `aten::add.out #12`.
    """

    pairs: tuple[ValuePair, ...]
    inputs: tuple[ValuePair, ...]
    outputs: tuple[ValuePair, ...]
    unpaired: tuple[str, ...]


def pair(
    program: Graph, method: Method, nodes: Mapping[int, str], prepared: GraphModule
) -> Pairing:
    """
    Args:
        program: of the method.
        nodes: names given by `mark` by instruction: see Lowered.
        prepared: in float, with a range for each quantised tensor.
    """
    by_name: defaultdict[str, list[Node]] = defaultdict(list)
    for node in prepared.graph.nodes:
        if node.op == "call_function" and (name := marked(node)) is not None:
            by_name[name].append(node)
    tensors = _holders(program)
    divided = _divided(method, nodes, by_name, tensors)
    pairs: dict[Node, ValuePair] = {}
    others: list[tuple[str, str]] = []
    instructions = Counter(nodes.values())
    for number, instruction in enumerate(method.instructions):
        if not isinstance(instruction, KernelInstruction):
            continue
        # An operator that the lowering adds, as padding before a pool, is checked with its reader.
        if (name := nodes.get(number)) is None:
            continue
        for place, index in enumerate(_results(method, instruction)):
            tensor = tensors.get(index)
            value = method.values[index]
            if tensor is None or tensor.held is None or not isinstance(value, TensorValue):
                continue
            counterpart = _counterpart(by_name[name], place, value)
            if index in divided:
                counterpart = _counterpart([divided[index]], 0, value)
            elif instructions[name] > 1 and any(map(_has_several_results, by_name[name])):
                counterpart = None  # any part may have its shape
            if counterpart is None:
                others.append((name, f"{instruction.operator} #{number}"))
                continue
            node, range_ = counterpart
            # A value and the same one in another form, as a conversion's: the integers count.
            if node not in pairs or pairs[node].range is None:
                pairs[node] = ValuePair(node, name, tensor, tensor.held, range_, 0.0)
    # If one layer became several instructions, the one with its result is enough.
    known = {each.name for each in pairs.values()}
    unpaired = tuple({name: each for name, each in others if name not in known}.values())
    bounded = tuple(_bounded(program, list(pairs.values())))
    inputs, outputs = _inputs(program, prepared), _outputs(program, bounded, prepared)
    return Pairing(bounded, tuple(inputs), tuple(outputs), unpaired)


def _holders(program: Graph) -> dict[int, Tensor]:
    """The tensor of each value that an operator computes, conversions of numbers excepted."""
    return {
        tensor.held.index: tensor
        for node in program.nodes
        if not isinstance(node.op, Quantize | Dequantize | ChangeScale)
        for tensor in node.outputs
        if tensor.held is not None
    }


def _divided(
    method: Method,
    nodes: Mapping[int, str],
    by_name: Mapping[str, Sequence[Node]],
    held: Collection[int],
) -> dict[int, Node]:
    """The results of divisions, by the values that hold them.

    Args:
        held: values that some tensor holds; of a part and its view, one is.
    """
    values: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, instruction in enumerate(method.instructions):
        if number in nodes and isinstance(instruction, KernelInstruction):
            made = (index for index in _results(method, instruction) if index in held)
            values[nodes[number]][instruction.operator] += made
    divided: dict[int, Node] = {}
    for name, (first, *_) in by_name.items():
        if first.target not in _DIVISIONS:
            continue
        takers: dict[Any, Node] = {user.args[1]: user for user in first.users}
        items = [takers[place] for place in sorted(takers)]
        shapes = [_bare(item.meta["val"].shape) for item in items]
        for indices in values[name].values():
            if [_bare(_sizes(method, index) or ()) for index in indices] == shapes:
                divided.update(zip(indices, items, strict=True))
    return divided


def _bare(shape: Sequence[int]) -> tuple[int, ...]:
    """Without dimensions of 1, in which a part and its view may differ."""
    return tuple(size for size in shape if size != 1)


def _sizes(method: Method, index: int) -> tuple[int, ...] | None:
    value = method.values[index]
    return value.sizes if isinstance(value, TensorValue) else None


def _results(method: Method, instruction: KernelInstruction) -> Iterator[int]:
    schema = operators()[instruction.operator].schema
    given = dict(zip(schema.names, instruction.arguments, strict=False))
    for name in schema.results:
        value = method.values[given[name]]
        items = value.items if isinstance(value, TensorList) else (given[name],)
        yield from (index for index in items if index is not None)


def _counterpart(
    nodes: Sequence[Node], place: int, value: TensorValue
) -> tuple[Node, StepRange | None] | None:
    """The node of a layer's value, or the follower that the layer was fused with."""
    for first in nodes:
        node: Node | None = first
        if _has_several_results(first):
            takers = (u for u in first.users if u.op == "call_function" and u.args[1] == place)
            node = next(takers, None)
        while node is not None:
            example = node.meta.get("val")
            if not isinstance(example, torch.Tensor):
                break
            observers = list(_observers(node))
            is_real = example.is_floating_point()
            same = tuple(example.shape) == value.sizes
            if node.target is getitem:
                same = _bare(example.shape) == _bare(value.sizes)
            if same or (node.target in _VIEWS and example.numel() == prod(value.sizes)):
                if value.dtype.kind in "fb" or not is_real:
                    return node, None
                wanted = _DTYPES.get(value.dtype)
                for observer in observers:
                    if observer.dtype == wanted:
                        return node, StepRange.of(observer)
            follower = next(iter(node.users), None)
            is_fused = len(node.users) == 1 and not observers
            node = follower if is_fused and follower and follower.op == "call_function" else None
    return None


def _has_several_results(node: Node) -> bool:
    return isinstance(node.meta.get("val"), tuple | list)


def _observers(node: Node) -> Iterator[Any]:
    module = node.graph.owning_module
    assert module is not None
    for user in node.users:
        if user.op == "call_module":
            yield module.get_submodule(str(user.target))


def _bounded(program: Graph, pairs: Sequence[ValuePair]) -> Iterator[ValuePair]:
    """Pairs with what the ops between a value and the values that it depends on allow."""
    known = {pair.tensor for pair in pairs}
    for pair in pairs:
        if _by_part(program, pair.tensor, known):
            yield replace(pair, bound=_SLACK + _EXACT_ROUNDING, by_part=True)
        else:
            steps = _steps_between(program, pair.tensor, known) + _number_steps(pair)
            yield replace(pair, bound=_SLACK + max(steps, _bound_steps(pair)))


def _by_part(program: Graph, tensor: Tensor, known: Collection[Tensor]) -> bool:
    node = program.producer.get(tensor)
    if node is None or node.outputs[0] not in known:
        return False
    if isinstance(node.op, Attention):
        # The parts are compared on the values that it reads, so nothing may lie before them.
        between = (each for each in node.reads if each not in known)
        return not any(_steps_between(program, each, known) for each in between)
    return isinstance(node.op, Recurrence)


def _number_steps(pair: ValuePair) -> float:
    """Steps by which the number is rounded with which a node pads."""
    number = padding_of(pair.node) if pair.node.target in PADS else None
    if pair.range is None or number is None or not isfinite(number):
        return 0.0
    return _rounding_of(number, pair.range)


def _bound_steps(pair: ValuePair) -> float:
    """Steps by which the bounds of a clamp are rounded, as far as the range has them."""
    held, given = pair.range, bounds_of(pair.node)
    if held is None or given is None:
        return 0.0
    least, largest = held.limits
    bounds = [float(bound) for bound in given if isinstance(bound, int | float)]
    return max((_rounding_of(each, held) for each in bounds if least < each < largest), default=0.0)


def _rounding_of(number: float, held: StepRange) -> float:
    steps = number / held.scale
    return abs(steps - round(steps))


def _inputs(program: Graph, prepared: GraphModule) -> Iterator[ValuePair]:
    """Inputs in float that the program quantises first."""
    places = {port.tensor: index for index, port in enumerate(program.inputs)}
    nodes = [node for node in prepared.graph.nodes if node.op == "placeholder"]
    for node in program.nodes:
        index = places.get(node.inputs[0]) if isinstance(node.op, Quantize) else None
        if index is None:
            continue
        port, (tensor,) = program.inputs[index], node.outputs
        for observer in _observers(nodes[index]):
            if observer.dtype == _DTYPES.get(tensor.dtype):
                held = HeldValue(index, port.shape, port.dim_order)
                range_, bound = StepRange.of(observer), _SLACK + _EXACT_ROUNDING
                yield ValuePair(nodes[index], port.name, tensor, held, range_, bound)
                break


def _outputs(
    program: Graph, pairs: Sequence[ValuePair], prepared: GraphModule
) -> Iterator[ValuePair]:
    known = {pair.tensor for pair in pairs}
    output = next(node for node in prepared.graph.nodes if node.op == "output")
    for index, port in enumerate(program.outputs):
        direct = port.tensor in known or not _steps_between(program, port.tensor, known)
        if direct and port.tensor.dtype.kind == "f":
            held = HeldValue(index, port.shape, port.dim_order)
            yield ValuePair(output, f"output_{index}", port.tensor, held, None, _OUTPUT_SLACK)


def _steps_between(program: Graph, tensor: Tensor, known: Collection[Tensor]) -> float:
    """Steps that the ops may be off which compute a tensor from known ones."""
    nodes, ahead = set(), [tensor]
    while ahead:
        node = program.producer.get(ahead.pop())
        if node is not None and node not in nodes:
            nodes.add(node)
            ahead += [source for source in node.reads if source not in known]
    is_fine = tensor.dtype == np.int16
    return sum(node.op.fine_error_steps if is_fine else node.op.error_steps for node in nodes)
