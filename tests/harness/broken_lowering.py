"""Lowering with one thing broken that one of its passes made."""

from __future__ import annotations

import os
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import Node

from cmcompiler.errors import CompilerError
from cmcompiler.frontend.intermediates import Note
from cmcompiler.frontend.lowering import Lowered

_QPARAMS = ("input_qparams", "output_qparams")


@dataclass(frozen=True)
class Damage:
    """
    Attributes:
        stage: `after-AtenToCortexMPass`.
        node: which it made or changed.
        spot: a number of it: position of an argument, `output_qparams.0.scale`, `data`.
    """

    stage: str
    node: str
    spot: str


@dataclass(frozen=True)
class Judged:
    """
    Attributes:
        verdict: on the broken program; `refused` if there is none.
    """

    damage: Damage
    verdict: str


REFUSED = "refused"


def judged(
    lower: Callable[[Note], Lowered], judge: Callable[[Lowered], str], every: int = 1
) -> list[Judged]:
    """The verdict on each damage that could be done to what each pass made.

    Each is done in a fork of this process, which goes on with the lowering from that pass on: what
    comes before is most of the time.

    Args:
        every: one of so many damages, evenly among all.
    """
    forks = _Forks(every)
    try:
        lowered = lower(forks)
        verdict = judge(lowered) if forks.is_child else ""
    except (CompilerError, ValueError, RuntimeError):
        if not forks.is_child:
            raise
        verdict = REFUSED
    except BaseException:
        if not forks.is_child:
            raise
        verdict = traceback.format_exc()
    if forks.is_child:
        forks.end(verdict)
    return forks.results


@dataclass
class _Forks:
    """A `Note` for the lowering that tries each damage in a fork.

    Attributes:
        most: damages of one kind: a stage, an operator and a spot of it.
    """

    every: int
    most: int = 1
    results: list[Judged] = field(default_factory=list)
    _count: int = 0
    _pipe: int | None = None
    _before: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    _kinds: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    @property
    def is_child(self) -> bool:
        return self._pipe is not None

    def __call__(self, stage: str, program: ExportedProgram) -> None:
        if stage == "executorch" or self.is_child:
            return
        after = {node.name: _spots(node, program) for node in program.graph.nodes}
        known, self._before = self._before, after
        for node in program.graph.nodes if known else ():
            for damage in self._damages(stage, node, known.get(node.name), after[node.name]):
                self._count += 1
                if self._count % self.every == 0:
                    self._try(damage, program)
                if self.is_child:
                    return

    def _damages(
        self, stage: str, node: Node, known: Mapping[str, str] | None, spots: Mapping[str, str]
    ) -> Iterator[Damage]:
        for spot, value in spots.items():
            if known is None and "qparams" in spot:
                continue  # of the node that this one takes the place of
            kind = stage, _role(node), spot
            if (known or {}).get(spot) != value and self._kinds[kind] < self.most:
                self._kinds[kind] += 1
                yield Damage(stage, node.name, spot)

    def _try(self, damage: Damage, program: ExportedProgram) -> None:
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            # The threads of torch have nothing to do meanwhile.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            self._pipe = writer
            torch.set_num_threads(1)
            _spoil(program, damage)
            return
        os.close(writer)
        with os.fdopen(reader) as pipe:
            self.results.append(Judged(damage, pipe.read()))
        os.waitpid(child, 0)

    def end(self, verdict: str) -> None:
        assert self._pipe is not None
        os.write(self._pipe, verdict.encode())
        os._exit(0)


def _role(node: Node) -> str:
    """An operator, or the place of a constant among an operator's arguments."""
    if node.op != "placeholder":
        return str(node.target)
    user = next(iter(node.users), None)
    if user is None:
        return ""
    # One of several joined operands has no place of its own.
    return f"{user.target} {user.args.index(node) if node in user.args else 'in a list'}"


def _constant(node: Node, program: ExportedProgram) -> Tensor | None:
    signature = program.graph_signature
    for names, held in (
        (signature.inputs_to_parameters, program.state_dict),
        (signature.inputs_to_buffers, program.state_dict),
        (signature.inputs_to_buffers, program.constants),
        (signature.inputs_to_lifted_tensor_constants, program.constants),
    ):
        value = held.get(names.get(node.name, ""))
        if isinstance(value, Tensor):
            return value
    return None


def _spots(node: Node, program: ExportedProgram) -> dict[str, str]:
    """What can be damaged, and how it is now: with the operator, since another one is new."""
    spots = {}
    if node.op == "placeholder" and node.users and _constant(node, program) is not None:
        spots["data"] = ""
    if node.op == "call_function":
        for place, each in enumerate(node.args):
            if _changed(each) != each:
                spots[str(place)] = f"{node.target} {each}"
        for name in _QPARAMS:
            for key, held in (node.meta.get(name) or {}).items():
                spots |= {f"{name}.{key}.scale": str(held.scale), f"{name}.{key}.zp": str(held.zp)}
    return spots


def _changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        # Multipliers are large; one more of them is nothing.
        return value + 1 if abs(value) < 10_000 else int(value * 0.98)
    if isinstance(value, float):
        return value * 1.05 + (0.01 if value == 0 else 0)
    if isinstance(value, list | tuple) and value:
        return type(value)([_changed(value[0]), *value[1:]])
    return value


def _spoil(program: ExportedProgram, damage: Damage) -> None:
    (node,) = (node for node in program.graph.nodes if node.name == damage.node)
    if damage.spot == "data":
        value = _constant(node, program)
        assert value is not None
        with torch.no_grad():
            value.copy_(_changed_data(value.clone()))
    elif damage.spot.isdigit():
        place = int(damage.spot)
        node.update_arg(place, _changed(node.args[place]))
    else:
        name, key, what = damage.spot.split(".")
        number = int(key)
        held = dict(node.meta[name])
        old = held[number]
        held[number] = old._replace(**{what: _other(getattr(old, what))})
        node.meta[name] = held
    program.graph_module.recompile()


def _other(value: Any) -> Any:
    """A scale or zero point, or several of channels, with the first changed."""
    if isinstance(value, list):
        return [_other(value[0]), *value[1:]]
    return value * 1.02 if isinstance(value, float) else value + 1


def _changed_data(value: Tensor) -> Tensor:
    """The first row or number changed."""
    first = value.reshape(-1)[: max(1, value.numel() // len(value) if value.ndim > 1 else 1)]
    if value.dtype == torch.int8:
        first.copy_((first * 0.8).round())
    elif value.dtype.is_floating_point:
        first.mul_(1.05)
    elif value.dtype == torch.bool:
        first.logical_not_()
    else:
        first.copy_(torch.where(first.abs() > 100, first * 1.05, first + 1))
    return value
