"""Makes modules that the compiler takes of those that people write. Importing it imports torch.

Nothing is asked of the author where a copy can be had that computes the same: in float32, without
changing its inputs, with outputs that can be taken apart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule

from cmcompiler.errors import Unsupported
from cmcompiler.frontend.copies import copied, in_eval_mode, tensors_of
from cmcompiler.frontend.failed_calls import check_arguments, place_of_forward, refusal
from cmcompiler.frontend.forward_calls import (
    CallWatch,
    StateWatch,
    refuse_chance,
    refuse_derivatives,
    with_buffers,
)
from cmcompiler.frontend.model import is_quantization_aware
from cmcompiler.frontend.outputs import check_outputs
from cmcompiler.frontend.single_precision import FloatWatch, converted, other_types, single
from cmcompiler.frontend.torchscript import exported
from cmcompiler.usercode import module_place

_QUANTIZED = ("torch.ao.nn.quantized", "torch.ao.nn.intrinsic.quantized")
_PREPARED = (
    *("torch.ao.quantization.observer", "torch.ao.quantization.fake_quantize"),
    *("torch.ao.nn.qat", "torch.ao.nn.intrinsic.qat"),
)
_COPIED = {torch.strided, torch.sparse_coo}
"""Layouts of tensors that torch copies."""
_IN_FLOAT = {"FloatFunctional", "FXFloatFunctional"}
"""Modules of sums and products, which torch computes in float until it quantises a model."""

_ASKED = {"parameters", "buffers", "modules", "named_parameters", "named_buffers", "named_modules"}
"""Methods of modules that every export calls."""


def adapted(
    module: torch.nn.Module, inputs: Sequence[Tensor]
) -> tuple[torch.nn.Module, tuple[str, ...]]:
    """The module, or a copy of it, and notes on what computes in another way than written.

    Args:
        inputs: examples, of any floating type.

    Raises:
        InvalidRequest: forward() takes more inputs, or fewer.
        Unsupported: a module of TorchScript that cannot be exported, one that is quantised, has
            observers or has no weights yet, complex inputs, outputs without tensors, a module that
            fails on the inputs, differentiates, or computes something else in the next call.
    """
    if is_quantization_aware(module):
        return module, ()
    # A result of torch.compile compiles itself when it is called.
    module = getattr(module, "_orig_mod", module)
    if isinstance(module, torch.jit.ScriptModule):
        module = exported(module, inputs)
    _check(module)
    if any(x.is_complex() for x in inputs):
        raise Unsupported("an input is complex", "take real and imaginary parts as two inputs")
    check_arguments(module, inputs)
    if any(x.layout not in _COPIED for x in tensors_of(module)):
        module = copied(module)
    held, given = other_types(tensors_of(module)), other_types(inputs)
    if held or given:
        module = converted(module)
    trial = _Trial.of(module, single(inputs))
    states: tuple[str, ...] = ()
    while trial.states:
        states += trial.states
        module = with_buffers(module, trial.states)
        trial = _Trial.of(module, single(inputs))
    if trial.types:
        module = converted(module)
    if any(trial.is_written):
        module = _without_writes(module, trial.is_written)
    for outputs in trial.outputs:
        check_outputs(outputs, place_of_forward(module))
    kinds = (("parameters", held), ("inputs", given), ("casts", trial.types))
    told = [f"{', '.join(types)} {name}" for name, types in kinds if types]
    notes = [f"computed as float32: {' and '.join(told)}"] if told else []
    notes += [f"kept from run to run as a buffer: self.{name}" for name in states]
    return module, tuple(notes)


def _check(module: torch.nn.Module) -> None:
    for part in torch.nn.Module.modules(module):
        for name in _ASKED & vars(part).keys():
            own = f"{type(part).__name__}.{name}"
            raise Unsupported(
                f"{own} hides torch.nn.Module.{name}(), which torch.export calls",
                f"rename {own}",
            )
    for name, part in module.named_modules():
        kind = type(part)
        at = module_place(name)
        if isinstance(part, torch.jit.ScriptModule):
            raise Unsupported(
                f"{at}: a module of TorchScript within another cannot be exported",
                "script or trace the whole model, or give the eager module that this one was made "
                "from",
            )
        if kind.__module__.startswith(_QUANTIZED) and kind.__name__ not in _IN_FLOAT:
            raise Unsupported(
                f"{at}: {kind.__module__}.{kind.__name__} is already quantised",
                "give the float module: the export quantises it",
            )
        if kind.__module__.startswith(_PREPARED):
            raise Unsupported(
                f"{at}: {kind.__name__} of torch's own quantisation",
                "give the float module from before prepare() or prepare_qat(): the export "
                "quantises it; load_state_dict(…, strict=False) gives it these weights",
            )
    for name, held in (*module.named_parameters(), *module.named_buffers()):
        path, _, own = name.rpartition(".")
        at = f"{module_place(path)}: {own}"
        if torch.nn.parameter.is_lazy(held):
            raise Unsupported(f"{at} is not initialised", "call the module once on its example")
        if held.is_meta:
            raise Unsupported(f"{at} is on the meta device and has no values", "load its weights")


@dataclass(frozen=True, slots=True)
class _Trial:
    """One call of a module on its examples.

    Attributes:
        types: other floating types than float32 among the results of operators.
        is_written: whether the module changes each input.
        outputs: the only item is what forward() returns; none if only the export can tell why it
            fails, as with torch.compile.
        states: names of tensors that decide the next call's results and are no buffers.
    """

    types: tuple[str, ...]
    is_written: tuple[bool, ...]
    outputs: tuple[Any, ...]
    states: tuple[str, ...] = ()

    @classmethod
    def of(cls, module: torch.nn.Module, inputs: Sequence[Tensor]) -> _Trial:
        watch, outputs = FloatWatch(), tuple[Any, ...]()
        given = [x.detach().clone() for x in inputs]
        before = [x._version for x in given]
        own: torch.nn.Module | None = None
        with suppress(Exception):
            own = in_eval_mode(copied(module))
        if own is None:
            return cls((), (False,) * len(given), ())
        calls, second, states = CallWatch(), tuple[Any, ...](), tuple[str, ...]()
        kept = StateWatch(own)
        try:
            with _told(own), _as_a_trial(), calls:
                outputs = (own(*given),)
        finally:
            refuse_derivatives(calls)
        # Watching imports torch's compiler, a second; and some libraries fail when watched.
        if outputs:
            with suppress(Exception), _as_a_trial(), watch:
                kept.restore()
                second = (own(*(x.detach().clone() for x in inputs)),)
        if second:
            refuse_chance(calls, lambda: _called_anew(module, inputs), outputs)
            others = [_turned(x) for x in inputs]
            states = kept.states(
                *(outputs, second, lambda: _called(own, inputs)),
                lambda: (_called_anew(module, others), _called(own, others)),
            )
        written = tuple(x._version > v for x, v in zip(given, before, strict=True))
        return cls(watch.types, written, outputs, states)


@contextmanager
def _as_a_trial() -> Iterator[None]:
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        yield


def _called_anew(module: torch.nn.Module, inputs: Sequence[Tensor]) -> tuple[Any, ...]:
    return _called(in_eval_mode(copied(module)), inputs)


def _called(module: torch.nn.Module, inputs: Sequence[Tensor]) -> tuple[Any, ...]:
    with _as_a_trial():
        return (module(*(x.detach().clone() for x in inputs)),)


def _turned(x: Tensor) -> Tensor:
    """Other numbers of the same range: those of an input in the opposite order."""
    return x.detach().flatten().flip(0).reshape(x.shape)


@contextmanager
def _told(module: torch.nn.Module) -> Iterator[None]:
    """
    Raises:
        Unsupported: the part of the module, or the user's line, that failed. Other errors, as of
            torch.compile, are left to the export.
    """
    try:
        yield
    except Exception as error:
        if type(error).__module__.startswith("torch._dynamo"):
            return
        if (refused := refusal(error, module)) is not None:
            raise refused from error


def _without_writes(module: torch.nn.Module, is_written: Sequence[bool]) -> torch.nn.Module:
    """A copy that changes clones of its inputs."""
    copy = copied(module)
    if isinstance(copy, GraphModule):
        _clone_inputs(copy, is_written)
        return copy
    if "forward" in vars(copy):
        vars(copy)["forward"] = _cloning(copy.forward, is_written)
        return copy
    of = type(copy)
    members = {"forward": _cloning(of.forward, is_written), "__module__": of.__module__}
    copy.__class__ = type(of.__name__, (of,), members)
    return copy


def _cloning(original: Callable[..., Any], is_written: Sequence[bool]) -> Callable[..., Any]:
    """A function, or a method with the module before its inputs, that is given clones of them."""

    @functools.wraps(original)
    def forward(*given: Any) -> Any:
        first = len(given) - len(is_written)
        pairs = zip(given[first:], is_written, strict=True)
        own = (x.clone() if is_own else x for x, is_own in pairs)
        return original(*given[:first], *own)

    return forward


def _clone_inputs(module: GraphModule, is_written: Sequence[bool]) -> None:
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    for node, is_own in zip(inputs, is_written, strict=True):
        if is_own:
            with module.graph.inserting_after(inputs[-1]):
                clone = module.graph.call_function(torch.ops.aten.clone.default, (node,))
            node.replace_all_uses_with(clone, lambda user, clone=clone: user is not clone)
    module.recompile()
