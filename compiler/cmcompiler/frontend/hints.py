"""Remedies that quantise an operator that stayed in float."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb

from cmcompiler.errors import Unsupported
from cmcompiler.usercode import place_of

UNSUPPORTED = "the backend has no int8 kernel for it"

OWN = "give it an int8 form of your own with quantized_op: docs/adding-an-op.md"

_HINTS = {
    "conv": "a convolution with constant weights and a number of groups that divides the channels",
    "linear": "linear with constant weights",
    "matmul": "linear, where one of the factors is constant",
    "bmm": "linear, where one of the factors is constant",
    "einsum": "linear or a 1×1 convolution, where one of the factors is constant",
    "pow": "a product of the number with itself, or an activation function that has a table",
    "where": "a number near the range of the other elements",
    "masked_fill": "a number near the range of the other elements",
    "interpolate": "upsampling by whole factors",
    "grid_sampler": "a transposed convolution",
}
"""By the beginning of the operator's name, without namespace."""


def hint(operator: str) -> str:
    """A replacement, or how to add what is missing; one line without a full stop.

    Args:
        operator: `conv1d` or `aten::convolution.out`.
    """
    name = operator.rpartition("::")[2].lstrip("_")
    return next((text for start, text in _HINTS.items() if name.startswith(start)), OWN)


DEPENDS_ON_VALUES = (
    "Python code depends on the values of a tensor",
    "choose with torch.where, or branch with torch.cond; "
    "numbers stay tensors without .item(), float() and tolist()",
)
"""A reason and what to do."""

REPLACED_DATA = "the data of a tensor are replaced by some of another shape or type"

_SEEN = {
    **dict.fromkeys(
        ("data-dependent expression", "aten.equal.default", "aten.allclose.default"),
        DEPENDS_ON_VALUES,
    ),
    "FakeTensor.__format__": (
        "text of a tensor's values is made, which no board has",
        "remove it, or make it in training only: if self.training",
    ),
    "its data is not allocated yet": (
        "values of a tensor become a new one by themselves",
        "join tensors: torch.stack([x[0], x[1]]) in place of torch.tensor([x[0], x[1]])",
    ),
    "Pending unbacked symbols": (
        "a tensor of one number is an index of what is read",
        "make it a list of one: buffer[step.reshape(1)], also on the left of +=",
    ),
    "carried_inputs must be tensors": (
        "a variable of a loop is a number of Python's",
        "begin with a tensor, as torch.zeros((), dtype=torch.int64)",
    ),
    REPLACED_DATA: (REPLACED_DATA, "give the result a name of its own"),
    "output of a function that returns multiple views": (
        "a part that unbind, chunk or split returns is written in place",
        "write into a slice: y[:, :4] += 1; or give the result a name of its own",
    ),
    "functions with out=... arguments": (
        "an operator writes its result to out=",
        "assign what it returns",
    ),
    "Higher order ops do not support aliasing": (
        "a branch, or a step of a loop, returns an input of it or one tensor twice",
        "return a copy: x.clone()",
    ),
    "FlexAttention does not support": (
        "flex_attention cannot be exported for this computer",
        "write F.scaled_dot_product_attention with a mask",
    ),
    "no fake impl registered": (
        "a custom operator does not say the shape of its result",
        "register one that returns an empty tensor of that shape: @my_op.register_fake",
    ),
    "aten._nested_": (
        "nested tensors cannot be exported: their sizes are values",
        "pad the sequences before the model, and mask what was padded",
    ),
    "but got dtype: torch.float64": (
        "a tensor of float64 is made, as torch.from_numpy does of NumPy's numbers",
        "make it in __init__, or of float32: np.arange(8, dtype=np.float32), torch.arange(8.0)",
    ),
    ".numpy() is not supported": (
        "NumPy cannot be part of a program",
        "compute with torch in forward(), or with NumPy before and after the model; "
        "turn arrays that the model holds into tensors with torch.from_numpy",
    ),
}
"""Reasons of torch.export by a part of its message, with what to do."""

_PACKED = (
    "a packed sequence cannot be exported: the sizes of its steps are values",
    "call the layer on the padded sequence: a program has one length",
)


@contextmanager
def explained() -> Iterator[None]:
    """Turns errors of torch.export that are about how `forward` is written into what to write.

    Raises:
        Unsupported: names the user's line.
    """
    try:
        yield
    except Exception as error:
        causes = [cause for part, cause in _SEEN.items() if part in str(error)]
        if not causes and _is_of_packed(error):
            causes = [_PACKED]
        for reason, hint in causes:
            place = place_of(error)
            raise Unsupported(f"{place}: {reason}" if place else reason, hint) from error
        raise


def _is_of_packed(error: Exception) -> bool:
    """Whether a recurrent layer failed on a PackedSequence."""
    frames = (frame for frame, _ in walk_tb(error.__traceback__))
    return any(frame.f_locals.get("batch_sizes") is not None for frame in frames)
