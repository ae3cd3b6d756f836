"""Changes to a program's meaning: sizes, types, orders, arguments, operators, places, branches."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from cmcompiler.decode.registry import operators
from cmcompiler.pte.program import (
    Allocation,
    Instruction,
    JumpFalseInstruction,
    KernelInstruction,
    Method,
    MoveInstruction,
    TensorList,
    TensorValue,
    Value,
)
from cmcompiler.pte.schema import DTYPES

DTYPE_CHOICES = tuple(DTYPES.values())
SIZES = (
    0,
    0,
    1,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    15,
    16,
    17,
    31,
    33,
    64,
    100,
    257,
    1000,
    65536,
    1 << 20,
    1 << 26,
)
INTEGERS = (
    *(0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 63, 64, 127, 128, 255, 1000, 32767, 32768, 65536),
    *(1 << 20, (1 << 30) - 1, 1 << 30, (1 << 31) - 1, 1 << 31, 1 << 32, (1 << 63) - 1),
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-8, 1e8, 1e30, 1e39, 1e-40, float("inf"), float("nan"), 2.5)
STRINGS = ("none", "tanh", "floor", "trunc", "", "é\n*/")
SPREAD = 16
"""By how much places move apart, so that tensors which have grown do not overlap."""

Change = Callable[[Method, random.Random], Method]


def changed(method: Method, others: Method, chance: random.Random) -> Method:
    """A method with one to three changes; another one may be appended to it."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if chance.random() < 0.04:
            method = appended(method, others)
        else:
            method = chance.choice(CHANGES)(method, chance)
    return method


def with_value(method: Method, index: int, value: Value) -> Method:
    return replace(method, values=(*method.values[:index], value, *method.values[index + 1 :]))


def tensors(method: Method) -> list[tuple[int, TensorValue]]:
    return [(i, v) for i, v in enumerate(method.values) if isinstance(v, TensorValue)]


def fitted(value: TensorValue) -> TensorValue:
    """With as many bytes as it needs, where the data is small enough to give."""
    if value.data is None or value.nbytes > 1 << 16:
        return value
    data = bytes(value.data) or b"\0"
    return replace(value, data=memoryview((data * (value.nbytes // len(data) + 1))[: value.nbytes]))


def resize(method: Method, chance: random.Random) -> Method:
    """One size becomes another: in one tensor, or in all of them, and maybe in numbers."""
    listed = [size for _, value in tensors(method) for size in value.sizes]
    if not listed:
        return method
    old = chance.choice(listed)
    new = max(0, chance.choice((*SIZES, old + 1, old - 1, 2 * old)))

    def sized(value: TensorValue) -> TensorValue:
        return fitted(replace(value, sizes=tuple(new if n == old else n for n in value.sizes)))

    if chance.random() < 0.3:
        index, value = chance.choice([(i, v) for i, v in tensors(method) if old in v.sizes])
        return with_value(method, index, sized(value))
    numbers = chance.random() < 0.4

    def renewed(value: Value) -> Value:
        if isinstance(value, TensorValue):
            return sized(value)
        if numbers and isinstance(value, tuple) and all(type(item) is int for item in value):
            return tuple(new if item == old else int(item) for item in value)
        return new if numbers and type(value) is int and value == old else value

    return spread(replace(method, values=tuple(map(renewed, method.values))))


def spread(method: Method) -> Method:
    """Places further apart, in buffers that hold them all."""
    values: list[Value] = []
    ends = [0] * max(2, len(method.buffer_sizes))
    for value in method.values:
        if isinstance(value, TensorValue) and value.allocation is not None:
            place = Allocation(value.allocation.memory, value.allocation.offset * SPREAD)
            if place.memory < len(ends):
                ends[place.memory] = max(ends[place.memory], place.offset + value.nbytes)
            values.append(replace(value, allocation=place))
        else:
            values.append(value)
    sizes = tuple(min(end + 16, (1 << 31) - 1) for end in ends)
    return replace(method, values=tuple(values), buffer_sizes=sizes)


def retype(method: Method, chance: random.Random) -> Method:
    """Another element type: of one tensor, or of all that have it."""
    index, value = chance.choice(tensors(method) or [(0, None)])
    if value is None:
        return method
    dtype = chance.choice(DTYPE_CHOICES)
    if chance.random() < 0.5:
        return with_value(method, index, fitted(replace(value, dtype=dtype)))
    old = value.dtype
    values = (
        fitted(replace(v, dtype=dtype)) if isinstance(v, TensorValue) and v.dtype == old else v
        for v in method.values
    )
    return spread(replace(method, values=tuple(values)))


def reorder(method: Method, chance: random.Random) -> Method:
    """Another dim order: of one tensor, or of all that have it."""
    index, value = chance.choice(tensors(method) or [(0, None)])
    if value is None:
        return method
    order = tuple(chance.sample(value.dim_order, len(value.dim_order)))
    if chance.random() < 0.6:
        return with_value(method, index, replace(value, dim_order=order))
    old = value.dim_order
    values = (
        replace(v, dim_order=order) if isinstance(v, TensorValue) and v.dim_order == old else v
        for v in method.values
    )
    return replace(method, values=tuple(values))


def reshape(method: Method, chance: random.Random) -> Method:
    """A dimension more, less, or split, in one tensor."""
    index, value = chance.choice(tensors(method) or [(0, None)])
    if value is None:
        return method
    sizes = list(value.sizes)
    place = chance.randrange(len(sizes) + 1)
    match chance.randrange(3):
        case 0:
            sizes.insert(place, 1)
        case 1 if sizes:
            del sizes[place % len(sizes)]
        case _:
            sizes = [prod(sizes)]
    shaped = replace(value, sizes=tuple(sizes), dim_order=tuple(range(len(sizes))))
    return with_value(method, index, fitted(shaped))


def renumber(method: Method, chance: random.Random) -> Method:
    """Another number, list, flag or string."""
    plain = [
        (i, v) for i, v in enumerate(method.values) if not isinstance(v, (TensorValue, TensorList))
    ]
    if not plain:
        return method
    index, value = chance.choice(plain)
    return with_value(method, index, other_value(value, chance))


def other_value(value: Value, chance: random.Random) -> Value:
    sign = chance.choice((1, 1, -1))
    match value:
        case bool():
            return not value
        case int():
            near = value + chance.choice((-2, -1, 1, 2))
            actual = chance.choice((near, near, -value, sign * chance.choice(INTEGERS)))
            return max(-(1 << 63), min(actual, (1 << 63) - 1))
        case float():
            return chance.choice((sign * chance.choice(FLOATS), value * 2, -value))
        case str():
            return chance.choice(STRINGS)
        case tuple() if value:
            items = list(value)
            place = chance.randrange(len(items))
            match chance.randrange(4):
                case 0:
                    del items[place]
                case 1:
                    items.insert(place, items[place])
                case _:
                    items[place] = other_value(items[place], chance)  # type: ignore[call-overload]
            return tuple(items)
    return chance.choice((None, 1, 0.5, True, (), (1, 1), (0.5, 2.0), "none"))


def reconnect(method: Method, chance: random.Random) -> Method:
    """Another value as an argument, or none."""
    calls = [
        (i, x)
        for i, x in enumerate(method.instructions)
        if isinstance(x, KernelInstruction) and x.arguments
    ]
    if not calls:
        return method
    number, call = chance.choice(calls)
    place = chance.randrange(len(call.arguments))
    old = method.values[call.arguments[place]]
    alike = [i for i, v in enumerate(method.values) if type(v) is type(old)]
    index = chance.choice(alike if chance.random() < 0.8 else range(len(method.values)))
    arguments = list(call.arguments)
    match chance.randrange(6):
        case 0:
            del arguments[place]
        case 1:
            arguments.insert(place, index)
        case _:
            arguments[place] = index
    return with_instruction(method, number, replace(call, arguments=tuple(arguments)))


def with_instruction(method: Method, number: int, instruction: Instruction) -> Method:
    instructions = list(method.instructions)
    instructions[number] = instruction
    return replace(method, instructions=tuple(instructions))


def change_operator(method: Method, chance: random.Random) -> Method:
    """Another operator, its arguments as far as they fit those of the old one."""
    calls = [(i, x) for i, x in enumerate(method.instructions) if isinstance(x, KernelInstruction)]
    if not calls:
        return method
    number, call = chance.choice(calls)
    schema = operators()[chance.choice(sorted(operators()))].schema
    left = list(call.arguments)
    values, arguments = list(method.values), []
    for kind, name in schema.parameters:
        fits = [i for i in left if fits_kind(values[i], kind)]
        if name in schema.results:
            fits.reverse()
        if fits:
            arguments.append(fits[0])
            left.remove(fits[0])
        else:
            arguments.append(len(values))
            values.append(value_of_kind(kind, chance))
    renamed = KernelInstruction(schema.name, tuple(arguments))
    return with_instruction(replace(method, values=tuple(values)), number, renamed)


def fits_kind(value: Value, kind: str) -> bool:
    if kind.startswith("Tensor") and "[" in kind:
        return isinstance(value, TensorList)
    if kind.startswith("Tensor"):
        return isinstance(value, TensorValue)
    return type(value) is type(value_of_kind(kind, random.Random(0)))


def value_of_kind(kind: str, chance: random.Random) -> Value:
    if "[" in kind:
        return () if kind.startswith("float") else tuple(chance.choices((0, 1, 2), k=2))
    plain: dict[str, Value] = {"int": 1, "bool": False, "float": 0.5, "Scalar": 2, "str": "none"}
    return plain.get(kind.rstrip("?"))


def rearrange(method: Method, chance: random.Random) -> Method:
    """An instruction more, less, twice, elsewhere; a move or a jump."""
    instructions: list[Instruction] = list(method.instructions)
    place = chance.randrange(len(instructions) + 1)
    pick = lambda: chance.randrange(max(1, len(method.values)))  # noqa: E731
    match chance.randrange(5):
        case 0 if instructions:
            del instructions[place % len(instructions)]
        case 1 if instructions:
            instructions.insert(place, chance.choice(instructions))
        case 2:
            chance.shuffle(instructions)
        case 3:
            instructions.insert(place, MoveInstruction(pick(), pick()))
        case _:
            end = chance.randrange(len(instructions) + 2)
            instructions.insert(place, JumpFalseInstruction(pick(), end))
    return replace(method, instructions=tuple(instructions))


def replug(method: Method, chance: random.Random) -> Method:
    """Other inputs and outputs of the method: one less, one twice, one of the tensors inside."""
    field = chance.choice(("inputs", "outputs"))
    ports: list[int] = list(getattr(method, field))
    place = chance.randrange(len(ports) + 1)
    match chance.randrange(3):
        case 0 if ports:
            del ports[place % len(ports)]
        case 1 if ports:
            ports.insert(place, chance.choice(ports))
        case _:
            ports.insert(place, chance.randrange(len(method.values)))
    if field == "inputs":
        return replace(method, inputs=tuple(ports))
    return replace(method, outputs=tuple(ports))


def replace_memory(method: Method, chance: random.Random) -> Method:
    """A tensor at the place of another, beside it, or as a constant."""
    listed = [(i, v) for i, v in tensors(method) if v.allocation is not None]
    if not listed:
        return method
    index, value = chance.choice(listed)
    other = chance.choice(listed)[1].allocation
    assert other is not None
    match chance.randrange(4):
        case 0:
            return with_value(method, index, replace(value, allocation=other))
        case 1:
            moved = Allocation(other.memory, max(0, other.offset + chance.choice((-16, -1, 1, 16))))
            return with_value(method, index, replace(value, allocation=moved))
        case 2 if value.nbytes <= 1 << 16:
            data = memoryview(chance.randbytes(value.nbytes))
            kept = chance.choice((None, value.allocation))
            return with_value(method, index, replace(value, allocation=kept, data=data))
    return spread(method)


def rewrite_data(method: Method, chance: random.Random) -> Method:
    """Other bytes of a constant."""
    listed = [(i, v) for i, v in tensors(method) if v.data is not None and len(v.data)]
    if not listed:
        return method
    index, value = chance.choice(listed)
    assert value.data is not None
    size = len(value.data)
    byte = chance.choice((0, 0x7F, 0x80, 0xFF))
    data = chance.choice((chance.randbytes(size), bytes([byte]) * size))
    return with_value(method, index, replace(value, data=memoryview(data)))


CHANGES: tuple[Change, ...] = (
    *(resize, resize, resize, retype, retype, reorder, reorder, reshape, renumber, renumber),
    *(renumber, reconnect, reconnect, change_operator, change_operator, rearrange, replug),
    *(replace_memory, rewrite_data),
)


def appended(first: Method, second: Method) -> Method:
    """Both, one after the other; what the second takes may come from the first."""
    base, count = len(first.values), len(first.instructions)
    room = max(first.buffer_sizes, default=0)
    given = list(_plugs(first, second, base))

    def index_of(index: int) -> int:
        return dict(given).get(index + base, index + base)

    def moved(value: Value) -> Value:
        if isinstance(value, TensorList):
            items = (None if item is None else index_of(item) for item in value.items)
            return TensorList(tuple(items))
        if isinstance(value, TensorValue) and value.allocation is not None:
            place = Allocation(value.allocation.memory, value.allocation.offset + room)
            return replace(value, allocation=place)
        return value

    def rewired(item: Instruction) -> Instruction:
        match item:
            case KernelInstruction(operator, arguments):
                return KernelInstruction(operator, tuple(map(index_of, arguments)))
            case MoveInstruction(source, target):
                return MoveInstruction(index_of(source), index_of(target))
            case JumpFalseInstruction(condition, destination):
                return JumpFalseInstruction(index_of(condition), destination + count)

    taken = {target for target, _ in given}
    inputs = (i + base for i in second.inputs if i + base not in taken)
    sizes = [size + room for size in second.buffer_sizes]
    longest = max(len(sizes), len(first.buffer_sizes))
    total = max([*sizes, *first.buffer_sizes], default=0)
    return Method(
        first.name,
        (*first.values, *map(moved, second.values)),
        (*first.inputs, *inputs),
        (*first.outputs, *map(index_of, second.outputs)),
        (*first.instructions, *map(rewired, second.instructions)),
        (0, *(total,) * (longest - 1)),
    )


def _plugs(first: Method, second: Method, base: int) -> Iterator[tuple[int, int]]:
    """Inputs of the second, by their index behind the first, and outputs of the first for them."""
    left = list(first.outputs)
    for target in second.inputs:
        wanted = second.values[target]
        for source in left:
            given = first.values[source]
            if (
                isinstance(given, TensorValue)
                and isinstance(wanted, TensorValue)
                and (given.sizes, given.dtype) == (wanted.sizes, wanted.dtype)
            ):
                left.remove(source)
                yield target + base, source
                break


@dataclass(frozen=True)
class Inputs:
    """Numbers for a method's ports."""

    seed: int

    def array(self, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> np.ndarray:  # type: ignore[type-arg]
        rng = np.random.default_rng(self.seed)
        if dtype.kind == "b":
            return rng.integers(0, 2, shape).astype(dtype)
        if dtype.kind == "f":
            numbers = rng.standard_normal(shape) * rng.choice((1, 1, 100))
            if self.seed % 7 == 0 and numbers.size:
                special = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, 1e-40)
                numbers.flat[:: max(1, numbers.size // 5)] = special[self.seed % len(special)]
            with np.errstate(all="ignore"):
                return np.asarray(numbers).astype(dtype)
        limits = np.iinfo(dtype)  # type: ignore[type-var]
        if self.seed % 3:
            return rng.integers(max(limits.min, -8), 8, shape).astype(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)  # type: ignore[arg-type]
