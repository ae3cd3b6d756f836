"""Whether rewrites left the outputs of the float graph as they were. Importing it imports torch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.fx import GraphModule
from torch.utils._pytree import tree_leaves

from cmcompiler.frontend.fidelity.double import DoubleRun, widened
from cmcompiler.frontend.fidelity.record import RewritingError
from cmcompiler.frontend.fidelity.ties import orders_of
from cmcompiler.frontend.fidelity.values import Array

ALLOWED = 1e-4
"""Error relative to an output's largest element: sums in another order stay within half of it."""

_LOSSES = 16.0
"""Times what the graph loses in single precision, that the user's module may have lost."""

_LARGEST = 1e9
"""Error of an output that has infinite numbers or another shape."""

_JUMPS = frozenset(
    (
        *("round", "floor", "ceil", "trunc", "frac", "sign", "remainder", "fmod", "floor_divide"),
        *("argmax", "argmin", "topk", "sort", "argsort", "bucketize", "heaviside", "nonzero"),
        *("gt", "ge", "lt", "le", "eq", "ne", "where", "embedding", "index"),
    )
)
"""Operators that another last bit of an operand may send elsewhere."""


def rewriting_error(
    rewritten: GraphModule,
    states: tuple[Tensor, ...],
    samples: Sequence[tuple[Tensor, ...]],
    expected: Sequence[Array],
) -> RewritingError | None:
    """The output that the rewrites changed most, if they changed any.

    Args:
        rewritten: in float; takes inputs and states.
        states: initial ones.
        samples: inputs, channels-last.
        expected: outputs of the user's module, an array for each, shape (samples, *y.shape).
    """
    jumps = any(_name(node.target) in _JUMPS for node in rewritten.graph.nodes)
    # A comparison may go the other way for the last bit of a sum, but hardly in every sample.
    choose = min if jumps else max
    theirs = [[stack[number] for stack in expected] for number in range(len(samples))]
    with orders_of(rewritten.graph):
        ours = _outputs(rewritten, states, samples)
    errors = [each for each in _errors(ours, theirs, choose) if each.error > ALLOWED]
    exact = _in_double(rewritten, states, samples) if errors else None
    if exact is not None:
        # Where large numbers cancel out, single precision loses much. Then the user's module is
        # about as far from the graph in double precision as the graph in single precision is.
        lost, wrong = (
            {each.output: each.error for each in _errors(some, exact, choose)}
            for some in (ours, theirs)
        )
        errors = [each for each in errors if wrong[each.output] > _LOSSES * lost[each.output]]
    return max(errors, key=_size, default=None)


def _in_double(
    rewritten: GraphModule, states: tuple[Tensor, ...], samples: Sequence[tuple[Tensor, ...]]
) -> list[list[Array]] | None:
    """The outputs in double precision; None if operators do not know it."""
    wide = [tuple(map(widened, sample)) for sample in samples]
    try:
        with orders_of(rewritten.graph):
            return _outputs(DoubleRun(rewritten).run, tuple(map(widened, states)), wide)
    except Exception:  # they raise anything
        return None


def _outputs(
    run: Callable[..., Any], states: tuple[Tensor, ...], samples: Sequence[tuple[Tensor, ...]]
) -> list[list[Array]]:
    """The tensors that each sample gives, one after the other."""
    outputs = []
    with torch.no_grad():
        for sample in samples:
            results = run(*sample, *states)
            if states:
                results, states = results
            leaves = tree_leaves(results)
            outputs.append([np.asarray(leaf) for leaf in leaves if isinstance(leaf, Tensor)])
    return outputs


def _errors(
    ours: Sequence[Sequence[Array]],
    theirs: Sequence[Sequence[Array]],
    choose: Callable[..., RewritingError],
) -> list[RewritingError]:
    """The error of each output, in the sample that is chosen."""
    errors: defaultdict[int, list[RewritingError]] = defaultdict(list)
    for some, others in zip(ours, theirs, strict=True):
        for place, (made, exact) in enumerate(zip(some, others, strict=True)):
            errors[place].append(_error(place, made, exact))
    return [choose(each, key=_size) for each in errors.values()]


def _size(error: RewritingError) -> float:
    return error.error


def _error(place: int, made: Array, expected: Array) -> RewritingError:
    exact, computed = expected.astype(np.float64), made.astype(np.float64)
    if exact.shape != computed.shape:
        return RewritingError(place, _LARGEST, 0.0, 0.0, (computed.shape, exact.shape))
    if not exact.size:
        return RewritingError(place, 0.0, 0.0, 0.0)
    same = (exact == computed) | (np.isnan(exact) & np.isnan(computed))
    finite = np.abs(exact[np.isfinite(exact)])
    largest = max(float(finite.max()) if finite.size else 0.0, 1e-30)
    with np.errstate(invalid="ignore"):
        differences = np.nan_to_num(np.where(same, 0.0, np.abs(computed - exact)), nan=np.inf)
    worst = int(differences.argmax())
    error = min(float(differences.flat[worst]) / largest, _LARGEST)
    return RewritingError(place, error, float(computed.flat[worst]), float(exact.flat[worst]))


def _name(target: Any) -> str:
    name = getattr(getattr(target, "_schema", None), "name", "")
    return str(name).partition("::")[2].rstrip("_")
