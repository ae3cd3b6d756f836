"""Reads the instructions of a method into nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cmcompiler.decode.call import Call
from cmcompiler.decode.contents import Contents
from cmcompiler.decode.registry import operators
from cmcompiler.decode.scope import Scope
from cmcompiler.importer.control import Block, Branch
from cmcompiler.ir.graph import Guard, Node
from cmcompiler.ir.movement.store import Store
from cmcompiler.ir.operand import Operand
from cmcompiler.ir.tensor import Tensor
from cmcompiler.ops.branch import Merge, Move
from cmcompiler.pte.program import KernelInstruction, MoveInstruction, TensorValue

Guards = tuple[Guard, ...]


def read_block(block: Block, scope: Scope, guards: Guards = ()) -> list[Node]:
    """The nodes of instructions that run if all of `guards` hold.

    Raises:
        InvalidProgram, Unsupported: names the instruction.
    """
    nodes: list[Node] = []
    for item in block:
        if isinstance(item, Branch):
            nodes += _read_branch(item, scope, guards)
            continue
        if isinstance(item.instruction, KernelInstruction):
            call = _kernel_call(item.number, item.instruction, scope)
        else:
            call = _move(item.number, item.instruction, scope)
        for node in call.finish():
            if guards and isinstance(node.op, Store):
                call.unsupported("writes a mutable buffer in a branch")
            nodes.append(replace(node, guards=guards))
    return nodes


def _kernel_call(number: int, instruction: KernelInstruction, scope: Scope) -> Call:
    operator = operators()[instruction.operator]
    names = [name for _, name in operator.schema.parameters]
    source = f"{instruction.operator} #{number}"
    call = Call(instruction.operator, names, source, instruction.arguments, scope)
    # Operators that return their outputs repeat them at the end.
    if len(instruction.arguments) not in (len(names), len(names) + 1):
        call.invalid(f"has {len(instruction.arguments)} arguments, not {len(names)}")
    operator.read(call)
    return call


def _move(number: int, instruction: MoveInstruction, scope: Scope) -> Call:
    """Makes the target refer to the source's contents, without a copy."""
    source, target = scope.values[instruction.source], scope.values[instruction.target]
    call = Call("MoveCall", ["source"], f"MoveCall #{number}", [instruction.source], scope)
    if not isinstance(source, TensorValue) or not isinstance(target, TensorValue):
        call.unsupported("its operand is not a tensor")
    if (source.sizes, source.dtype) != (target.sizes, target.dtype):
        call.invalid(f"moves {source} to {target}")
    tensor = call.arrange(call.tensor("source"), target.dim_order)
    scope.check_written(instruction.target, call.source, "target")
    if scope.state(instruction.target) is not None:
        call.unsupported("moves into a mutable buffer")
    scope.write(instruction.target, tensor)
    return call


def _read_branch(branch: Branch, scope: Scope, guards: Guards) -> list[Node]:
    """The nodes of both ways, and their merged results."""
    source = f"JumpFalseCall #{branch.number}"
    call = Call("JumpFalseCall", ["condition"], source, [branch.condition], scope)
    if not isinstance(scope.values[branch.condition], TensorValue):
        call.unsupported("its condition is not a tensor")
    condition = call.tensor("condition", dtype=np.bool_)
    if condition.numel != 1:
        call.unsupported(f"its condition has {condition.numel} elements, not 1")
    nodes = [replace(node, guards=guards) for node in call.finish()]
    before = scope.contents
    when_true, when_false = (
        _way(block, scope, before, (*guards, Guard(condition.tensor, expected, source)))
        for block, expected in ((branch.when_true, True), (branch.when_false, False))
    )
    scope.contents = Contents(views=before.views)
    merges = _join(when_true, when_false, scope)
    return [*nodes, *when_true.nodes, *when_false.nodes, *merges]


@dataclass(frozen=True)
class _Way:
    """One way of a branch.

    Attributes:
        guards: the branch's own last.
        contents: of all places at its end.
    """

    guards: Guards
    nodes: list[Node]
    contents: Contents


def _way(block: Block, scope: Scope, before: Contents, guards: Guards) -> _Way:
    scope.contents = before.copy()
    return _Way(guards, read_block(block, scope, guards), scope.contents)


def _join(when_true: _Way, when_false: _Way, scope: Scope) -> list[Node]:
    """Merges what both ways left in the same places, whether it is read later or not."""
    merges = []
    *outside, guard = when_true.guards
    for place, first, second in when_true.contents.common(when_false.contents):
        if first == second:
            scope.contents.put(place, first)
        elif first.is_like(second):
            moved = [_moved(first, when_true, scope), _moved(second, when_false, scope)]
            merged = scope.new("merged", first.dtype, first.tensor.shape)
            inputs = (guard.condition, *moved)
            merges.append(Node(Merge(), inputs, (merged,), guard.source, tuple(outside)))
            scope.contents.put(place, replace(first, tensor=merged))
    return merges


def _moved(operand: Operand, way: _Way, scope: Scope) -> Tensor:
    """Makes an operand available at the end of a way."""
    tensor = scope.new("moved", operand.dtype, operand.tensor.shape)
    source = way.guards[-1].source
    way.nodes.append(Node(Move(), (operand.tensor,), (tensor,), source, way.guards))
    return tensor
