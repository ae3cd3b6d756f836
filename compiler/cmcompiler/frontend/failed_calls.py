"""Says which part of a module failed on which input, and what it takes. Importing it imports torch.

torch's own messages name neither the part nor its input: `a and b must have same reduction dim`.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from operator import attrgetter

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd

from cmcompiler.errors import InvalidRequest, Unsupported
from cmcompiler.usercode import (
    device_reason,
    is_library,
    module_place,
    reason_of,
    shown,
    user_line,
)

_CALLS = {"_call_impl", "_wrapped_call_impl"}
"""Methods of torch.nn.Module that call forward()."""
_NAMED = inspect.Parameter.KEYWORD_ONLY
_LONGEST = 60
"""Characters of a part's settings that are shown."""
_FEATURES = (
    *((nn.Linear, "in_features"), (nn.RNNBase, "input_size"), (nn.RNNCellBase, "input_size")),
    *((nn.MultiheadAttention, "embed_dim"), (nn.TransformerEncoderLayer, "self_attn.embed_dim")),
)
"""Parts that take so many numbers in the last dimension, by the name of their argument."""
_CHANNELS = (
    *((_ConvNd, "in_channels"), (_NormBase, "num_features"), (nn.GroupNorm, "num_channels")),
)
"""Parts that take so many channels, by the name of their argument."""
_IMAGES = {
    **{nn.Conv1d: (2, 3), nn.ConvTranspose1d: (2, 3), nn.BatchNorm1d: (2, 3)},
    **{nn.Conv2d: (3, 4), nn.ConvTranspose2d: (3, 4), nn.BatchNorm2d: (4,)},
    **{nn.Conv3d: (4, 5), nn.ConvTranspose3d: (4, 5), nn.BatchNorm3d: (5,)},
}
"""Numbers of dimensions that parts take; a batch counts."""


@dataclass(frozen=True, slots=True)
class _Need:
    """The arguments that a part takes, in place of those that it got.

    Attributes:
        text: `takes 100 features, got 5408`.
        hint: what to change.
    """

    text: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of a part of a module, and its first tensor."""

    part: nn.Module
    given: Tensor | None


def check_arguments(module: nn.Module, inputs: Sequence[Tensor]) -> None:
    """
    Raises:
        InvalidRequest: there is no forward(), or it takes more inputs, or fewer.
    """
    if getattr(type(module), "forward", None) is nn.Module.forward:
        raise InvalidRequest(
            f"the module: {type(module).__name__} has no forward()",
            "define forward(self, x) inside of the class",
        )
    signature = inspect.signature(module.forward)
    try:
        signature.bind(*inputs)
    except TypeError:
        names = ", ".join(map(str, signature.replace(return_annotation=signature.empty).parameters))
        named = [each.name for each in signature.parameters.values() if each.kind is _NAMED]
        count = f"{len(inputs)} input" if len(inputs) == 1 else f"{len(inputs)} inputs"
        raise InvalidRequest(
            f"{place_of_forward(module)}: forward({names}) cannot be called with {count}",
            f"remove the * before {named[0]}: inputs are given by their places"
            if named
            else "example_inputs is a tuple with one tensor for each argument of forward()",
        ) from None


def place_of_forward(module: nn.Module) -> str:
    """The line of the user's that defines forward(), `net.py:12`; else `the module`."""
    code = getattr(inspect.unwrap(type(module).forward), "__code__", None)
    if code is None or is_library(code.co_filename):
        return module_place("")
    return f"{shown(code.co_filename)}:{code.co_firstlineno}"


def refusal(error: Exception, module: nn.Module) -> Unsupported | None:
    """The error of a call of a module, in the words of the part that raised it.

    Args:
        error: from calling the module, or a copy of it.

    Returns:
        None if neither a module nor a line of the user's raised the error.
    """
    line = user_line(error)
    call = _failed(error)
    if line is not None and (device := device_reason(error)) is not None:
        return Unsupported(f"{line}: {device[0]}", device[1])
    if call is None:
        if line is None:
            return None
        return Unsupported(f"{line}: {type(error).__name__}: {reason_of(error)}")
    paths = (path for path, part in module.named_modules() if part is call.part)
    at = ": ".join(filter(None, (line, *map(module_place, paths))))
    settings = call.part.extra_repr()
    if len(settings) > _LONGEST:
        settings = f"{settings[:_LONGEST].rstrip(' ,')} …"
    name = f"{type(call.part).__name__}({settings})"
    if call.given is None:
        return Unsupported(f"{at}: {name}: {type(error).__name__}: {reason_of(error)}")
    shape = _shape(call.given)
    need = _need(call.part, call.given)
    if need is None:
        return Unsupported(f"{at}: {name} cannot take {shape}: {reason_of(error)}")
    return Unsupported(f"{at}: {name} {need.text} ({shape})", need.hint)


def _failed(error: Exception) -> _Call | None:
    """The innermost call of a module, unless a line of the user's failed inside it."""
    call: _Call | None = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if not is_library(frame.f_code.co_filename):
            call = None
        part = frame.f_locals.get("self")
        if frame.f_code.co_name in _CALLS and isinstance(part, nn.Module):
            tensors = (x for x in frame.f_locals.get("args", ()) if isinstance(x, Tensor))
            call = _Call(part, next(tensors, None))
    return call


def _need(part: nn.Module, x: Tensor) -> _Need | None:
    """The arguments that the part takes; None if that is known to no one but the part."""
    if isinstance(part, (nn.Embedding, nn.EmbeddingBag)):
        return _tokens(part, x)
    if not x.is_floating_point() and not x.is_complex() and _is_of_floats(part):
        return _Need(
            "takes floating-point numbers",
            "convert them in forward(), x.float(), or give the inputs in float32",
        )
    dimensions = next((n for kind, n in _IMAGES.items() if isinstance(part, kind)), ())
    if dimensions and x.ndim not in dimensions:
        return _Need(
            f"takes {' or '.join(map(str, dimensions))} dimensions, got {x.ndim}",
            "give the batch and the channels each a dimension: x.unsqueeze(0)"
            if x.ndim < max(dimensions)
            else "flatten or reshape its input",
        )
    if isinstance(part, nn.LayerNorm) and x.shape[-len(part.normalized_shape) :] != tuple(
        part.normalized_shape
    ):
        ends = tuple(x.shape[-len(part.normalized_shape) :])
        return _Need(
            f"takes {_sizes(part.normalized_shape)} in the last dimensions, got {_sizes(ends)}",
            f"normalized_shape={list(ends)} takes that",
        )
    return _features(part, x) or _channels(part, x) or _kernel(part, x)


def _is_of_floats(part: nn.Module) -> bool:
    return any(held.is_floating_point() for held in part.parameters(recurse=False))


def _features(part: nn.Module, x: Tensor) -> _Need | None:
    name = next((name for kind, name in _FEATURES if isinstance(part, kind)), None)
    if name is None or not x.ndim:
        return None
    takes, given = attrgetter(name)(part), x.shape[-1]
    if takes == given:
        return None
    if x.ndim > 2 and prod(x.shape[1:]) == takes:
        hint = "flatten its input: x.flatten(1), or nn.Flatten() before it"
    else:
        argument = "d_model" if isinstance(part, nn.TransformerEncoderLayer) else name
        hint = f"{argument}={given} takes that"
    return _Need(f"takes {takes} features, got {given}", hint)


def _channels(part: nn.Module, x: Tensor) -> _Need | None:
    name = next((name for kind, name in _CHANNELS if isinstance(part, kind)), None)
    if name is None or x.ndim < 2:
        return None
    is_single = isinstance(part, _ConvNd) and x.ndim == len(part.kernel_size) + 1
    takes, given = getattr(part, name), x.shape[0 if is_single else 1]
    if takes == given:
        return None
    if x.shape[-1] == takes:
        order = [0, x.ndim - 1, *range(1, x.ndim - 1)]
        hint = f"channels come first in torch: x.permute({', '.join(map(str, order))})"
    else:
        hint = f"{name}={given} takes that"
    return _Need(f"takes {takes} channels, got {given}", hint)


def _kernel(part: nn.Module, x: Tensor) -> _Need | None:
    if not isinstance(part, _ConvNd) or part.transposed or isinstance(part.padding, str):
        return None
    spans = [d * (k - 1) + 1 for k, d in zip(part.kernel_size, part.dilation, strict=True)]
    sizes = x.shape[-len(spans) :]
    padded = [size + 2 * int(pad) for size, pad in zip(sizes, part.padding, strict=True)]
    if all(span <= size for span, size in zip(spans, padded, strict=True)):
        return None
    return _Need(
        f"has a kernel of {_sizes(spans)} and is left {_sizes(padded)}",
        "give the model a larger input, pad, or reduce less before it",
    )


def _tokens(part: nn.Embedding | nn.EmbeddingBag, x: Tensor) -> _Need | None:
    if x.is_floating_point():
        return _Need(
            "takes integers", "give the example and calibration inputs as integers: x.long()"
        )
    if x.numel() and not 0 <= int(x.min()) <= int(x.max()) < part.num_embeddings:
        wrong = next(int(i) for i in x.flatten() if not 0 <= int(i) < part.num_embeddings)
        return _Need(
            f"takes 0 to {part.num_embeddings - 1}, got {wrong}",
            "give tokens inside of its table, or a larger table",
        )
    return None


def _sizes(sizes: Sequence[int]) -> str:
    return "×".join(map(str, sizes))


def _shape(x: Tensor) -> str:
    return f"{str(x.dtype).removeprefix('torch.')} {_sizes(x.shape)}"
